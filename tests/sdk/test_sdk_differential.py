"""The same calls through the real SDK's decorator and through ours: the same spans."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import enum
import importlib
import math
import random
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from visceral_cli import tool
from visceral_cli.contract.key_order import is_order_told, key_order
from visceral_cli.runtime.wrap import unwrap, wrap

sdk = pytest.importorskip("visceral", reason="the SDK visceral-ai is not installed")
pytest.importorskip("opentelemetry.sdk", reason="opentelemetry-sdk not installed")


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    LOW = 1


class Text(str):
    """A subclass."""

    __slots__ = ()


class Foreign(Exception):
    """Raised by tools."""


LEAVES: tuple[Callable[[random.Random], Any], ...] = (
    lambda rng: rng.choice([None, True, False, 0, 1, -1, 2**70, 0.0, -0.0, 1.0, 1e16, 5e-324]),
    lambda rng: rng.choice(["", "a", "é", "😀", "\ud800", '\x7f\n\t"\\/', "\x00"]),
    lambda rng: rng.random() * 10 ** rng.randint(-20, 20),
    lambda rng: rng.randint(-(10**20), 10**20),
    lambda rng: rng.choice([math.nan, math.inf]),
    lambda rng: rng.choice(
        [
            datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC),
            decimal.Decimal("1.0"),
            decimal.Decimal("NaN"),
            uuid.UUID(int=7),
            b"ab",
            {1},
            Colour.RED,
            Level.LOW,
            Text("x"),
            range(3),
        ]
    ),
)


def value(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.randint(0, 9)
    if depth > 3 or kind < 6:
        weights = [8, 8, 4, 4, 1, 3]
        return rng.choices(LEAVES, weights)[0](rng)
    items = [value(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    if kind == 6:
        return items
    if kind == 7:
        return tuple(items)
    keys = [rng.choice(["a", "b", "é", "", "A", "z1"]) for _ in items]
    if rng.random() < 0.05:
        keys = [rng.choice([1, None, "a"]) for _ in items]
    return dict(zip(keys, items, strict=True))


def plain(x: Any, y: Any = 2) -> Any: ...
def keywords(x: Any, /, *, y: Any = None) -> Any: ...
def variable(x: Any, *args: Any, **kwargs: Any) -> Any: ...
def nothing() -> Any: ...
def only_defaults(a: Any = 1, b: Any = 1.0, c: Any = True) -> Any: ...


SIGNATURES = (plain, keywords, variable, nothing, only_defaults)


def arguments(rng: random.Random) -> tuple[tuple[Any, ...], dict[str, Any]]:
    args = tuple(value(rng) for _ in range(rng.randint(0, 3)))
    names = rng.sample(["x", "y", "a", "b", "c", "other"], rng.randint(0, 2))
    return args, {name: value(rng) for name in names}


@pytest.fixture(scope="module")
def pipeline() -> Any:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider, exporter


@pytest.fixture
def ours_and_theirs(pipeline: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Runs one call through both decorators; returns what each left behind."""
    provider, exporter = pipeline
    theirs = importlib.import_module("visceral.tool")  # the attribute of that name is the decorator
    monkeypatch.setattr(theirs, "get_tracer", lambda: provider.get_tracer("visceral"))
    wrap(None, "agent", tracer_provider=provider, capture="clear")

    def run(decorate: Any, function: Any, args: Any, kwargs: Any, options: Any) -> Any:
        exporter.clear()
        decorated = decorate("t", **options)(function)
        try:
            result = decorated(*args, **kwargs)
            outcome = asyncio.run(result) if asyncio.iscoroutine(result) else result
        except Exception as error:  # noqa: BLE001
            outcome = error
        (span,) = exporter.get_finished_spans()
        events = [
            (event.name, event.attributes["exception.type"], event.attributes["exception.escaped"])
            for event in span.events
        ]
        return (
            dict(span.attributes),
            span.name,
            span.kind,
            span.status.status_code,
            events,
            span.instrumentation_scope.name,
        ), outcome

    yield lambda *call: (run(tool, *call), run(sdk.tool, *call))
    unwrap()


def with_body(signature: Any, body: Callable[[], Any], *, is_async: bool) -> Any:
    import functools

    if is_async:

        @functools.wraps(signature)
        async def acall(*args: Any, **kwargs: Any) -> Any:
            return body()

        return acall

    @functools.wraps(signature)
    def call(*args: Any, **kwargs: Any) -> Any:
        return body()

    return call


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.filterwarnings("ignore")
def test_random_calls_leave_the_same_spans(ours_and_theirs, seed):
    rng = random.Random(seed)
    for _ in range(25):
        result = value(rng)
        error = Foreign("message") if rng.random() < 0.1 else None

        def body(result: Any = result, error: Any = error) -> Any:
            if error is not None:
                raise error
            return result

        options = {
            "readonly": rng.random() < 0.85,
            "replay_safe": rng.random() < 0.5,
            "vary": rng.choice([None, None, ["x"], ["y", "x"], ["kwargs"], ["nowhere"]]),
            "version": rng.choice([None, None, "", "2", "é"]),
            "freshness_seconds": rng.choice([None, 1, 0.5]),
        }
        function = with_body(rng.choice(SIGNATURES), body, is_async=rng.random() < 0.3)
        args, kwargs = arguments(rng)
        (ours, our_outcome), (theirs, their_outcome) = ours_and_theirs(
            function, args, kwargs, options
        )
        # beside what the SDK writes: in what order the keys of the captured result stood
        order = ours[0].pop("visceral.tool.output_order", None)
        captured = "output.value" in ours[0] and not is_order_told(result)
        assert order == (key_order(result) if captured else None)
        assert ours == theirs
        assert our_outcome is their_outcome


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": 1},
        {"vary": "q"},
        {"vary": ()},
        {"vary": [""]},
        {"freshness_seconds": 0},
        {"freshness_seconds": True},
        {"freshness_seconds": "1"},
    ],
    ids=str,
)
def test_what_the_sdk_refuses_is_refused(wrong):
    for decorate in (tool, sdk.tool):
        with pytest.raises(ValueError, match=r"."):
            decorate(**{"name": "t", **wrong})


def test_the_same_tool_hashes_the_same_as_compute_tool_hash():
    from visceral.tool_hash import canonical_output_json, compute_tool_hash

    from visceral_cli.contract.identity import NotCanonical, faithful_json, input_hash

    rng = random.Random(7)
    for _ in range(2000):
        given = {"x": value(rng), "y": value(rng)}
        try:
            mine = input_hash("t", given)
        except NotCanonical:
            mine = None
        assert mine == compute_tool_hash("t", given)
        try:
            text = faithful_json(given["x"])
        except NotCanonical:
            text = None
        assert text == canonical_output_json(given["x"])
