"""Random histories: the runtime serves exactly what the contract's decision allows."""

from __future__ import annotations

import random
from typing import Any

import pytest

from visceral_cli import node, tool
from visceral_cli.contract.decide import Decision, StoredResult, Write, decide, last_write_end
from visceral_cli.contract.decide import may_store as contract_may_store
from visceral_cli.runtime.installed import INSTALLATION
from visceral_cli.runtime.run import Writers

FRESHNESS_SECONDS = 10
KIND = {
    Decision.SERVE: "hit",
    Decision.NO_RESULT: "miss",
    Decision.EXPIRED: "stale",
    Decision.WRITER: "invalidated",
}


class Oracle:
    """What the contract says, from the times of executions and writes alone."""

    def __init__(self) -> None:
        self.stored: StoredResult | None = None
        self.writes: list[Write] = []

    def expects(self, now_ns: int) -> str:
        return KIND[
            decide(
                self.stored,
                now_ns=now_ns,
                freshness_ns=FRESHNESS_SECONDS * 1_000_000_000,
                last_write_end_ns=last_write_end(self.writes, by_ns=now_ns),
            )
        ]

    def executed(self, start_ns: int, end_ns: int) -> None:
        if contract_may_store(start_ns, end_ns, self.writes):
            self.stored = StoredResult(start_ns, end_ns)


@pytest.mark.parametrize("seed", range(12))
def test_every_call_of_a_random_history_is_decided_as_the_contract_decides(
    agent: Any, rule: Any, clock: Any, seed: int
) -> None:
    agent.serve(rule(arguments={"q": 1}, freshness=FRESHNESS_SECONDS))
    agent.replace(clock=clock, writers=Writers(clock))
    INSTALLATION.runtime.results.store._clock = clock
    rng = random.Random(seed)
    oracle = Oracle()
    ran: list[tuple[int, int]] = []

    @tool("get", readonly=True, replay_safe=True)
    def get(q: int) -> str:
        start = clock.now
        clock.advance(rng.choice([0, 0.5, 3]))
        if inner_write.pop("next", False):
            put()
        clock.advance(rng.choice([0, 0.5]))
        ran.append((start, clock.now))
        return "v"

    @tool("put")
    def put() -> None:
        start = clock.now
        clock.advance(rng.choice([0, 1, 4]))
        oracle.writes.append(Write(start, clock.now))

    inner_write: dict[str, bool] = {}

    # a run of its own: the store keeps no barrier, so each reason is the decision's
    @node("history", run=True)
    def history() -> None:
        for _ in range(200):
            clock.advance(rng.choice([0.1, 1, 5, 9]))
            if rng.random() < 0.2:
                put()
                continue
            if rng.random() < 0.1:
                inner_write["next"] = True
            expected = oracle.expects(clock.now)
            ran.clear()
            get(1)
            inner_write.clear()
            outcome = [found for found in agent.outcomes if found.tool == "get"][-1]
            assert outcome.kind.value == expected
            assert bool(ran) == (expected != "hit")
            for execution in ran:
                oracle.executed(*execution)

    history()
    kinds = {found.kind.value for found in agent.outcomes if found.tool == "get"}
    assert kinds == set(KIND.values())
