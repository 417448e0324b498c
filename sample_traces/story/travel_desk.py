"""The travel desk: four days of an agent whose tools are decorated with the Visceral SDK.

Visa rules do not change, fares do now and then, profiles are changed by the desk itself, and a
hotel quote is new every time. In each run the desk asks three times for the same fares and rules.
"""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import dataclass, field

from story.recorder import DAY, HOUR, MINUTE, MONDAY, SECOND, Recorder
from story.span_formats import Batch, Span, Value, cut

ROUTES = [
    (origin, destination)
    for origin in ("OSL", "CPH", "AMS", "VIE")
    for destination in ("LIS", "NRT", "GRU", "JFK", "CPT", "DEL")
]
PASSPORTS = ("NO", "DK", "NL", "AT", "SE", "FI", "IS", "BE", "CH", "CZ", "PL", "IE")
CLERKS = 23
DESTINATION_COUNTRY = {"LIS": "PT", "NRT": "JP", "GRU": "BR", "JFK": "US", "CPT": "ZA", "DEL": "IN"}


def canonical(value: object) -> str:
    """Return the canonical JSON of contract version 1."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def input_hash(tool: str, keyed: dict[str, Value], version: str | None) -> str:
    """Return the identity of a call by contract version 1."""
    payload = canonical({"args": keyed, "tool": tool, "version": version})
    return hashlib.sha256(payload.encode()).hexdigest()


def decision_id(tool: str, identity: str) -> str:
    """Return the name of the rule that `visceral rules` writes for an identity of the desk."""
    named = json.dumps(["travel-desk", tool, 1, identity], separators=(",", ":"))
    return "r-" + hashlib.sha256(named.encode()).hexdigest()[:12]


class Fares:
    """Fares per route and date, changed now and then by the airlines and by seats on hold."""

    def __init__(self, rng: random.Random) -> None:
        self._changes = {route: self._change_times(rng) for route in ROUTES}
        self.held: dict[tuple[str, str], int] = {}

    @staticmethod
    def _change_times(rng: random.Random) -> list[int]:
        times, at = [], MONDAY
        while at < MONDAY + 4 * DAY:
            at += int(rng.expovariate(1 / 9) * HOUR)
            times.append(at)
        return times

    def offers(self, origin: str, destination: str, date: str, at_ns: int) -> object:
        """Return what a search finds at ``at_ns``."""
        route = (origin, destination)
        version = sum(1 for change in self._changes[route] if change <= at_ns)
        seed = f"{origin}{destination}{date}{version}"
        rng = random.Random(seed)
        left = 9 - self.held.get(route, 0) % 9
        return [
            {
                "flight": f"{carrier}{100 + rng.randrange(800)}",
                "departs": f"{date}T{6 + rng.randrange(15):02d}:{rng.randrange(12) * 5:02d}:00Z",
                "fare": {"amount": 180 + rng.randrange(900), "currency": "EUR"},
                "seats_left": left,
            }
            for carrier in ("XA", "XB", "XC")
        ]


VISA_DAYS = {"PT": 90, "JP": 90, "BR": 90, "US": 90, "ZA": 30, "IN": 0}


@dataclass(slots=True)
class Desk:
    """The travel desk and its tools, as the Visceral SDK records them."""

    out: Recorder
    fares: Fares
    profiles: dict[str, int] = field(default_factory=dict)
    """Traveller id to how often the profile was changed."""
    live_rules: frozenset[str] = frozenset()
    """Input hashes that the runtime serves: from Thursday on."""
    served: int = 0

    def call(
        self,
        tool: str,
        arguments: dict[str, Value],
        result: object,
        seconds: float,
        **declared: Value,
    ) -> Span:
        """Record one call of a read-only tool; a live rule may answer it."""
        version, vary = declared.get("version"), declared.get("vary")
        attributes: dict[str, Value] = {
            "openinference.span.kind": "TOOL",
            "visceral.tool.name": tool,
            "tool.name": tool,
            "visceral.tool.readonly": True,
            "visceral.tool.replay_safe": declared.get("replay_safe", True),
        }
        for name in ("vary", "version", "freshness_override"):
            if name in declared:
                attributes[f"visceral.tool.{name}"] = declared[name]
        keyed = {vary: arguments[vary]} if isinstance(vary, str) else arguments
        identity = input_hash(tool, keyed, version if isinstance(version, str) else None)
        if identity in self.live_rules:
            self.served += 1
            if self.served % 8:
                attributes["visceral.tool.served_decision_id"] = decision_id(tool, identity)
                return self.out.leaf(tool, attributes, 0.0004)
            attributes["visceral.tool.verify_match"] = True
        attributes |= {
            "visceral.tool.input_hash": identity,
            "visceral.tool.hash_v": 1,
            "input.value": canonical(arguments),
            "output.value": canonical(result),
        }
        return self.out.leaf(tool, attributes, seconds)

    def search_flights(self, route: tuple[str, str], date: str) -> Span:
        """Search fares; the airline asks not to reuse them for more than an hour."""
        seconds = self.out.seconds(0.7, 2.4)
        offers = self.fares.offers(*route, date, self.out.now)
        arguments: dict[str, Value] = {"origin": route[0], "destination": route[1], "date": date}
        return self.call("search_flights", arguments, offers, seconds, freshness_override=3600.0)

    def visa_rules(self, passport: str, route: tuple[str, str]) -> Span:
        """Look up a rule that did not change in these four days."""
        country = DESTINATION_COUNTRY[route[1]]
        days = VISA_DAYS[country]
        rule = {"visa": "required" if days == 0 else "not required", "days": days, "source": "T2"}
        arguments: dict[str, Value] = {"passport": passport, "country": country}
        seconds = self.out.seconds(0.2, 0.6)
        declared = {"version": "2", "freshness_override": 7200.0}
        return self.call("visa_rules", arguments, rule, seconds, **declared)

    def traveller_profile(self, traveller: str) -> Span:
        """Read a profile; ``vary`` keeps the request id, new in every call, out of the identity."""
        number = int(traveller[2:])
        profile = {
            "seat": ("aisle", "window")[number % 2],
            "meal": ("any", "vegetarian", "vegan")[number % 3],
            "revision": self.profiles.get(traveller, 0),
        }
        request = f"q-{self.out.rng.getrandbits(40):010x}"
        arguments: dict[str, Value] = {"traveller_id": traveller, "request_id": request}
        seconds = self.out.seconds(0.08, 0.3)
        return self.call("traveller_profile", arguments, profile, seconds, vary="traveller_id")

    def quote_hotel(self, city: str) -> Span:
        """Ask for a quote: read-only, but numbered anew, hence not replay-safe."""
        quote = {"quote": f"h-{self.out.rng.getrandbits(32):08x}", "nightly": 90 + len(city)}
        arguments: dict[str, Value] = {"city": city, "nights": 2}
        seconds = self.out.seconds(0.5, 1.5)
        return self.call("quote_hotel", arguments, quote, seconds, replay_safe=False)

    def write(self, tool: str, seconds: float) -> Span:
        """Record a call of a writer: by the SDK's contract without arguments and result."""
        attributes: dict[str, Value] = {
            "openinference.span.kind": "TOOL",
            "visceral.tool.name": tool,
            "tool.name": tool,
            "visceral.tool.readonly": False,
            "visceral.tool.replay_safe": False,
        }
        return self.out.leaf(tool, attributes, seconds)


def desk_run(desk: Desk, at_ns: int) -> None:
    """One traveller at the desk: plan, compare, offer."""
    out, rng = desk.out, desk.out.rng
    out.begin_trace(at_ns)
    route = ROUTES[int(len(ROUTES) ** rng.random()) - 1]
    date = f"2026-04-{rng.randrange(1, 4):02d}"
    traveller = f"t-{rng.randrange(120):04d}"
    passport = PASSPORTS[int(traveller[2:]) % len(PASSPORTS)]
    root = out.enter()

    plan = out.enter()
    desk.traveller_profile(traveller)
    if rng.random() < 0.06:  # the search fails once and is tried again
        failed = desk.search_flights(route, date)
        failed.failed, failed.exception = True, "TimeoutError"
        del failed.attributes["output.value"]
        out.wait(1)
    desk.search_flights(route, date)
    desk.visa_rules(passport, route)
    out.leave(plan, "plan", {"openinference.span.kind": "AGENT", "visceral.node": "plan"})

    out.wait(out.seconds(3, 55))
    desk.search_flights(route, date)
    desk.visa_rules(passport, route)
    if rng.random() < 0.3:
        desk.quote_hotel(route[1])

    out.wait(out.seconds(20, 1500))  # the traveller thinks
    offer = out.enter()
    if rng.random() < 0.15:
        desk.write("hold_seats", 0.9)
        desk.fares.held[route] = desk.fares.held.get(route, 0) + 2
    if rng.random() < 0.05:
        desk.write("update_profile", 0.4)
        desk.profiles[traveller] = desk.profiles.get(traveller, 0) + 1
    desk.traveller_profile(traveller)
    desk.search_flights(route, date)
    desk.visa_rules(passport, route)
    out.leave(offer, "offer", {"openinference.span.kind": "AGENT", "visceral.node": "offer"})
    clerk = f"clerk-{at_ns // MINUTE % CLERKS + 1}"  # whoever is free asks the agent
    names = {"visceral.node": "desk", "user.id": clerk}
    out.leave(root, "desk", {"openinference.span.kind": "AGENT"} | names)


def desk_days() -> list[list[Batch]]:
    """Return the batches of each of the four days."""
    rng = random.Random("travel desk")
    desk = Desk(Recorder(rng), Fares(rng))
    days = []
    for day in range(4):
        if day == 3:
            desk.live_rules = frozenset(
                input_hash("visa_rules", {"passport": passport, "country": "PT"}, "2")
                for passport in PASSPORTS[:3]
            )
        for run in range(330):
            desk_run(desk, MONDAY + day * DAY + run * 110 * SECOND + rng.randrange(60) * SECOND)
        if day == 3:
            desk_mismatch(desk)
        batch = Batch("travel-desk", "python", "visceral")
        days.append(cut(desk.out.spans, batch, 40))
        desk.out.spans = []
    return days


def desk_mismatch(desk: Desk) -> None:
    """A verify sample that caught a fare which had changed."""
    desk.out.begin_trace(MONDAY + 3 * DAY + 11 * HOUR)
    span = desk.search_flights(ROUTES[0], "2026-04-01")
    span.attributes["visceral.tool.verify_match"] = False
