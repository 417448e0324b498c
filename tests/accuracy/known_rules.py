"""Tools whose rules are known because the story says what their results depend on.

Every tool is recorded by all instrumentations in turn, so that equal questions are written in ever
other ways. What a rule may answer is said call by call where the call is made.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from known_truth import SECOND, START_NS
from recorded_span import CONVENTIONS, SCOPES, Content, RecordedSpan, visceral_writer

SERVICE = "desk"


@dataclass(slots=True)
class Tools:
    """All spans, and the seconds of those calls that a stored result may answer, by tool."""

    rng: random.Random
    spans: list[RecordedSpan] = field(default_factory=list)
    served: dict[str, dict[str, float]] = field(default_factory=dict)
    """By tool and span id."""
    turn: int = 0

    def call(
        self,
        tool: str,
        at: float,
        run: int,
        arguments: dict[str, Any],
        result: object,
        *,
        user: str = "",
        served: bool = False,
        failed: bool = False,
    ) -> None:
        """Record a call under the next convention; the keys of a call stand in any order."""
        names = sorted(CONVENTIONS)
        convention = names[self.turn % len(names)]
        self.turn += 1
        span_id = f"{self.rng.getrandbits(64):016x}"
        call_id = f"call_{self.turn}"
        write = convention == "visceral" and tool == "update_stock"
        name, attributes, events = (visceral_writer if write else CONVENTIONS[convention])(
            Content(tool, call_id, arguments, result, self.rng)
        )
        attributes |= {"session.id": f"s-{run}"} | ({"user.id": user} if user else {})
        seconds = round(self.rng.uniform(0.2, 2.0), 6)
        begin_ns = START_NS + round(at * SECOND)
        self.spans.append(
            RecordedSpan(
                SERVICE,
                f"{run + 1:032x}",
                span_id,
                "",
                name,
                begin_ns,
                begin_ns + round(seconds * SECOND),
                attributes,
                events,
                failed,
                SCOPES.get(convention, ""),
            )
        )
        if served:
            self.served.setdefault(tool, {})[span_id] = seconds


def make_tools(seed: int, questions: int = 400) -> Tools:
    """Ask every tool some questions, 1000 s apart."""
    tools = Tools(random.Random(seed))
    for n in range(questions):
        for story in (_hours, _orders, _price, _quote, _stock, _flaky):
            story(tools, n, 1000 * n)
    return tools


def _hours(tools: Tools, n: int, at: float) -> None:
    """The same for everybody, today and tomorrow."""
    for nth, user in enumerate(("u-1", "u-2", "u-3")):
        hours = {"opens": 9, "closes": 17 + n % 3}
        question = {"branch": n, "options": {"holidays": True, "zone": "CET"}}
        tools.call("hours", at + 50 * nth, 10 * n + nth, question, hours, user=user, served=nth > 0)


def _orders(tools: Tools, n: int, at: float) -> None:
    """Each user has other orders."""
    for nth, user in enumerate(("u-1", "u-2", "u-1", "u-2")):
        mine = {"orders": [n], "of": user}
        tools.call(
            "my_orders", at + 50 * nth, 10 * n + nth, {"page": n}, mine, user=user, served=nth > 1
        )


def _price(tools: Tools, n: int, at: float) -> None:
    """Another one whenever it is asked."""
    for nth, user in enumerate(("u-1", "u-1", "u-2")):
        tools.call(
            "price", at + 50 * nth, 10 * n + nth, {"item": n}, {"eur": 3 * n + nth}, user=user
        )


def _quote(tools: Tools, n: int, at: float) -> None:
    """Depends on the item, and on no request id: what is asked anew may be answered."""
    for nth in range(3):
        question = {"item": f"i-{n}", "request_id": f"{tools.rng.getrandbits(64):x}"}
        tools.call("quote", at + 50 * nth, 10 * n + nth, question, {"eur": n}, user=f"u-{nth % 2}")


def _stock(tools: Tools, n: int, at: float) -> None:
    """Sold between the first two calls, of one run: what was read before does not count."""
    item, left = {"item": n}, {"left": n}
    tools.call("stock", at, 10 * n, item, {"left": n + 1}, user="u-1")
    tools.call("update_stock", at + 20, 10 * n, item, {"sold": 1}, user="u-1")
    tools.call("stock", at + 50, 10 * n, item, left, user="u-1")
    tools.call("stock", at + 90, 10 * n, item, left, user="u-1", served=True)
    tools.call("stock", at + 100, 10 * n + 1, item, left, user="u-2", served=True)


def _flaky(tools: Tools, n: int, at: float) -> None:
    """Fails first; a failure answers nothing and is answered by nothing that was stored later."""
    tools.call("flaky", at, 10 * n, {"x": n}, None, user="u-1", failed=True)
    tools.call("flaky", at + 40, 10 * n, {"x": n}, {"ok": n}, user="u-1")
    tools.call("flaky", at + 70, 10 * n, {"x": n}, None, user="u-1", failed=True)
    tools.call("flaky", at + 90, 10 * n + 1, {"x": n}, {"ok": n}, user="u-2", served=True)
