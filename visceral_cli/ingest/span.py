"""What every file format is read into: spans, log records, and what could not be read."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from hashlib import blake2b

import msgspec

UNSET, OK, ERROR = 0, 1, 2
"""Status codes of a span, as OTLP numbers them."""

INTERNAL, SERVER, CLIENT, PRODUCER, CONSUMER = 1, 2, 3, 4, 5
"""Kinds of a span, as OTLP numbers them; 0 is unspecified."""


class Event(msgspec.Struct, gc=False):
    """A timed note on a span; its time is not kept."""

    name: str
    attributes: dict[str, object]


class Resource(msgspec.Struct):
    """What produced the spans; one object is shared by all spans of a ResourceSpans."""

    attributes: dict[str, object] = {}

    @property
    def service(self) -> str | None:
        """``service.name``, where it is a text and not empty."""
        name = self.attributes.get("service.name")
        return name if isinstance(name, str) and name else None


class Span(msgspec.Struct, gc=False):
    """One timed operation.

    Attribute values are Python values: ``str``, ``bool``, ``int`` (an OTLP intValue), ``float`` (an
    OTLP doubleValue, also when integral), ``bytes``, ``list``, ``dict`` (a kvlist, or JSON that the
    exporting backend had already parsed) and ``None`` (an empty AnyValue).
    """

    trace_id: str
    """Lower-case hex of 32 digits where the file's id decodes to 16 bytes, else its text."""
    span_id: str
    """Lower-case hex of 16 digits where the file's id decodes to 8 bytes, else its text."""
    parent_span_id: str | None
    """``None`` for a root: absent, empty or all zeros in the file."""
    name: str
    start_ns: int | None
    """Nanoseconds since the Unix epoch; ``None`` where the file has none, zero or nonsense."""
    end_ns: int | None
    attributes: dict[str, object]
    resource: Resource
    kind: int = 0
    status: int = UNSET
    status_message: str = ""
    events: list[Event] = []
    scope: str = ""
    """The name of the instrumentation scope, empty where the format has none."""
    dropped_attributes: int = 0


class LogRecord(msgspec.Struct, gc=False):
    """A log record that names a span: some instrumentations put content there."""

    trace_id: str
    span_id: str
    event_name: str
    body: object
    attributes: dict[str, object]


class DamageKind(StrEnum):
    """What was wrong with a piece of input."""

    NOT_JSON = "not-json"
    """A line or document that is no JSON."""
    CUT = "cut"
    """The last line, message or frame ends early: the file may still be growing."""
    NUL = "nul-bytes"
    ENCODING = "invalid-utf-8"
    SURROGATE = "lone-surrogate"
    UNKNOWN_SHAPE = "unknown-shape"
    """Valid JSON or protobuf in which no span was recognised."""
    FIELD = "bad-field"
    """One field had a wrong type or value; the span was kept without it."""
    SPAN = "bad-span"
    """A span without the least it needs (an object with a name or an id); it was left out."""
    ID = "bad-id"
    """An id that is empty: a synthetic one stands in."""
    PROTO = "not-protobuf"
    COMPRESSION = "bad-compression"
    TOO_LARGE = "too-large"


class Damage(msgspec.Struct, frozen=True):
    """One thing that could not be read. Names and places only, never a value."""

    kind: DamageKind
    line: int | None
    """Line number from 1 within what was read, where the input has lines."""
    byte: int | None
    """Byte offset within what was read, for input without lines."""
    what: str
    """What was wrong and what was done about it: ``startTimeUnixNano is no number; left out``."""


MAX_PLACES = 100
"""How many damaged places of one kind a reading tells of; further ones are only counted."""


class Reading:
    """What reading one piece of a file has given so far."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.logs: list[LogRecord] = []
        self.skipped: Counter[str] = Counter()
        """Records that are no spans and were left out: ``logs``, ``metrics``, ``profiles``, and
        ``span-starts`` (the start of a span whose end is told apart)."""
        self.damage: list[Damage] = []
        """The damaged places, the first :data:`MAX_PLACES` of each kind."""
        self.damage_counts: Counter[DamageKind] = Counter()
        """All damaged places, by kind."""
        self.lines = 0
        self.line: int | None = None
        """The line being read, for what :meth:`add_damage` notes."""
        self.byte: int | None = None
        self._seed = ""
        self._spans_before = 0

    def add_damage(self, kind: DamageKind, what: str) -> None:
        """Count one damaged thing at the current place."""
        self.damage_counts[kind] += 1
        if self.damage_counts[kind] <= MAX_PLACES:
            self.damage.append(Damage(kind, self.line, self.byte, what))

    def extend(self, later: Reading) -> None:
        """Add what the next piece of the same file has given."""
        self.spans += later.spans
        self.logs += later.logs
        self.skipped += later.skipped
        self.damage_counts += later.damage_counts
        kept = Counter(damage.kind for damage in self.damage)
        for damage in later.damage:
            kept[damage.kind] += 1
            if kept[damage.kind] <= MAX_PLACES:
                line = None if damage.line is None else damage.line + self.lines
                self.damage.append(Damage(damage.kind, line, damage.byte, damage.what))
        self.lines += later.lines

    def begin_document(self, seed: str) -> None:
        """Let the synthetic ids of what follows depend on ``seed``, the place of the document."""
        self._seed = seed
        self._spans_before = len(self.spans)

    def synthetic_id(self, digits: int) -> str:
        """Return hex digits that stand for an empty id of the next span.

        They are the same whenever the same place of the same file is read, and differ from those
        of every other place.
        """
        position = len(self.spans) - self._spans_before
        place = f"{self._seed}\0{position}".encode("utf-8", "surrogatepass")
        return blake2b(place, digest_size=digits // 2, person=b"visceral").hexdigest()
