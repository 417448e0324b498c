"""Finished spans → OTLP JSON lines, which ``visceral analyze`` reads.

One line is one complete OTLP document with one span; whole lines are appended by a single write, so
several processes may share the file. A file that has grown to its limit is renamed and a new one
begun. The agent never waits for the disk: a thread of our own writes, and what it cannot write is
counted and dropped.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime
from json.encoder import encode_basestring_ascii as quoted
from pathlib import Path

from visceral_cli import __version__
from visceral_cli.contract import attributes as names
from visceral_cli.runtime import trace_context
from visceral_cli.runtime.attribute_json import Attributes, attribute_json
from visceral_cli.runtime.clock import now_ns
from visceral_cli.runtime.forking import begin_afresh_after_fork

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: one process per trace file
    fcntl = None  # type: ignore[assignment]

logger = logging.getLogger("visceral_cli.runtime")

MAX_FILE_BYTES = 64 << 20
KEPT_FILES = 16
MAX_WAITING = 100_000
_DRAIN_SECONDS = 0.05
_LINES_AT_ONCE = 256
_EXIT_SECONDS = 2.0


class RecordedSpan:
    """An open span; becomes a line when it ends."""

    __slots__ = (
        "_attributes",
        "_entered",
        "_ids",
        "_name",
        "_parent",
        "_recorder",
        "_start_ns",
    )

    def __init__(self, recorder: Recorder, name: str, static: Attributes) -> None:
        self._recorder = recorder
        self._name = name
        self._attributes = [static.json] if static.json else []
        self._parent = trace_context.current()
        self._ids = trace_context.child_of(self._parent)
        self._entered = trace_context.enter(self._ids)
        self._start_ns = now_ns()

    def set(self, name: str, value: object) -> None:
        """Add an attribute."""
        text = attribute_json(name, value)
        if text:
            self._attributes.append(text)

    def end(self, error_type: str | None = None) -> None:
        """Close the span; ``error_type`` is the name of the exception that left it."""
        end_ns = now_ns()
        trace_context.leave(self._entered)
        parent = "" if self._parent is None else f'"parentSpanId":"{self._parent.span_id}",'
        failure = '"status":{}' if error_type is None else _failure(error_type, end_ns)
        self._recorder.add(
            f'{{"traceId":"{self._ids.trace_id}","spanId":"{self._ids.span_id}",{parent}'
            f'"name":{quoted(self._name)},"kind":1,"startTimeUnixNano":"{self._start_ns}",'
            f'"endTimeUnixNano":"{end_ns}","attributes":[{",".join(self._attributes)}],{failure}}}'
        )


class Recorder:
    """Writes the spans of one process to a file that other processes may write to as well."""

    def __init__(
        self,
        path: Path | str,
        *,
        agent_id: str,
        max_bytes: int = MAX_FILE_BYTES,
        kept_files: int = KEPT_FILES,
    ) -> None:
        self.path = Path(path)
        self.dropped = 0
        """Spans that could not be written."""
        self._max_bytes = max_bytes
        self._kept_files = kept_files
        self._agent_id = agent_id
        self._file: int | None = None
        self._warned = False
        self._torn = False
        self._closed = False
        self._writing = threading.Lock()
        self.begin_afresh()
        atexit.register(self.flush, seconds=_EXIT_SECONDS)
        begin_afresh_after_fork(self)

    def begin_afresh(self) -> None:
        """Begin afresh in a forked process."""
        self._lines: deque[str] = deque()
        self._added = threading.Event()
        self._starting = threading.Lock()
        self._writing = threading.Lock()
        self._thread: threading.Thread | None = None
        resource = {
            "service.name": self._agent_id,
            names.AGENT_ID: self._agent_id,
            "telemetry.sdk.language": "python",
            "telemetry.sdk.name": "visceral-cli",
            "telemetry.sdk.version": __version__,
            "service.instance.id": str(uuid.uuid4()),
        }
        self._before = (
            f'{{"resourceSpans":[{{"resource":{{"attributes":[{Attributes(resource).json}]}},'
            f'"scopeSpans":[{{"scope":{{"name":"{names.SCOPE_NAME}"}},"spans":['
        )
        self._after = "]}]}]}\n"

    def start_span(self, name: str, static: Attributes) -> RecordedSpan:
        """Open a span below the current one and make it current."""
        return RecordedSpan(self, name, static)

    def add(self, span_json: str) -> None:
        """Hand a finished span to the writing thread; drops it if too many are waiting."""
        if len(self._lines) >= MAX_WAITING:
            self.dropped += 1
            return
        self._lines.append(span_json)
        if not self._added.is_set():
            self._added.set()
            if self._thread is None:
                self._start_thread()

    def flush(self, *, seconds: float = 5.0) -> bool:
        """Write what is waiting; ``False`` if that took longer than ``seconds``."""
        if not self._lines and not self._writing.locked():
            return True
        writer = threading.Thread(target=self._drain, name="visceral-flush", daemon=True)
        try:
            writer.start()
        except RuntimeError:  # the interpreter is ending and starts no more threads
            self._drain()
            return True
        writer.join(seconds)
        return not writer.is_alive()

    def close(self) -> None:
        """Write what is waiting and close the file."""
        self._closed = True
        self._added.set()
        self.flush()
        atexit.unregister(self.flush)
        with self._writing:
            self._close_file()

    def _start_thread(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="visceral-recorder", daemon=True
                )
                self._thread.start()

    def _run(self) -> None:
        while not self._closed:
            self._added.wait()
            time.sleep(_DRAIN_SECONDS)  # a burst becomes one write and one switch of threads
            self._added.clear()
            self._drain()

    def _drain(self) -> None:
        with self._writing:
            # what comes meanwhile waits for the next time: writing it one by one, as fast as the
            # agent ends spans, would take the interpreter from the agent at every span
            waiting = len(self._lines)
            while waiting > 0:
                # one write of whole lines: the kernel keeps those of several processes apart
                batch = [self._lines.popleft() for _ in range(min(waiting, _LINES_AT_ONCE))]
                waiting -= len(batch)
                try:
                    self._write(batch)
                except OSError as error:
                    self._lost(len(batch), error)

    def _write(self, batch: list[str]) -> None:
        text = "".join(f"{self._before}{span}{self._after}" for span in batch).encode("ascii")
        file = self._open_file()
        if self._torn:
            text = b"\n" + text  # a full disk cut the line before
        written = os.write(file, text)
        self._torn = written < len(text)
        if self._torn:
            raise OSError("short write")
        if os.fstat(file).st_size >= self._max_bytes:
            self._rotate()

    def _open_file(self) -> int:
        if self._file is not None:
            try:
                here, there = os.fstat(self._file), self.path.stat()
                if (here.st_ino, here.st_dev) == (there.st_ino, there.st_dev):
                    return self._file
            except FileNotFoundError:
                pass
            self._close_file()  # another process has rotated it away
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
        self._file = os.open(self.path, flags, 0o600)
        return self._file

    def _close_file(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.close(self._file)
            self._file = None

    def _rotate(self) -> None:
        with _locked(self.path.with_name(f".{self.path.name}.lock")):
            if self.path.exists() and self.path.stat().st_size >= self._max_bytes:
                stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
                stem, suffix = self.path.stem, self.path.suffix
                self.path.rename(self.path.with_name(f"{stem}-{stamp}{suffix}"))
                rotated = sorted(self.path.parent.glob(f"{stem}-????????T??????.??????Z{suffix}"))
                for old in rotated[: max(0, len(rotated) - self._kept_files)]:
                    old.unlink(missing_ok=True)
        self._close_file()

    def _lost(self, spans: int, error: OSError) -> None:
        self.dropped += spans
        self._close_file()
        if not self._warned:
            self._warned = True
            reason = (error.strerror or str(error)).lower()
            logger.warning("visceral: spans cannot be written to %s: %s", self.path, reason)


def _failure(error_type: str, time_ns: int) -> str:
    event = ",".join(
        (attribute_json("exception.type", error_type), attribute_json("exception.escaped", "False"))
    )
    return (
        f'"events":[{{"timeUnixNano":"{time_ns}","name":"exception","attributes":[{event}]}}],'
        '"status":{"code":2}'
    )


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    if fcntl is None:
        yield
        return
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
