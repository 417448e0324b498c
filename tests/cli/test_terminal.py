from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable

import pytest

from visceral_cli.cli.progress_bar import ProgressBar
from visceral_cli.cli.terminal import Color, Terminal, say_error, size_of, uses_color
from visceral_cli.progress import Silent


class Stream(io.StringIO):
    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal


@pytest.mark.parametrize(
    ("wanted", "environment", "terminal", "colored"),
    [
        (Color.AUTO, {}, True, True),
        (Color.AUTO, {}, False, False),
        (Color.AUTO, {"NO_COLOR": "1"}, True, False),
        (Color.AUTO, {"NO_COLOR": ""}, True, True),
        (Color.AUTO, {"FORCE_COLOR": "1"}, False, True),
        (Color.AUTO, {"FORCE_COLOR": "0"}, False, False),
        (Color.AUTO, {"FORCE_COLOR": ""}, False, False),
        (Color.AUTO, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, True, False),
        (Color.AUTO, {"TERM": "dumb"}, True, False),
        (Color.ALWAYS, {"NO_COLOR": "1"}, False, True),
        (Color.NEVER, {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_the_option_beats_no_color_beats_force_color_beats_the_stream(
    wanted: Color, environment: dict[str, str], terminal: bool, colored: bool
) -> None:
    assert uses_color(wanted, Stream(terminal), environment) is colored


def test_a_pipe_has_no_width() -> None:
    assert size_of(Stream(False)) == (None, None)
    assert size_of(None) == (None, None)
    width, height = size_of(Stream(True))
    assert width is not None
    assert height is not None


def test_notes_go_to_stderr_and_quiet_takes_them_away(capsys: pytest.CaptureFixture[str]) -> None:
    Terminal().note("skipped 3 damaged lines")
    Terminal(quiet=True).note("nothing")
    Terminal().detail("nothing")
    Terminal(verbose=True).detail("a.jsonl:3: not JSON")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "visceral: note: skipped 3 damaged lines\n  a.jsonl:3: not JSON\n"


def test_an_error_cannot_move_the_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    say_error("a\x1b[2J.jsonl: not JSON", "look\x07")
    assert capsys.readouterr().err == (
        "visceral: error: a\\x1b[2J.jsonl: not JSON\n  hint: look\\x07\n"
    )


def test_progress_is_silent_in_a_pipe_and_when_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(Terminal().progress(), Silent)
    monkeypatch.setattr(sys, "stderr", Stream(True))
    assert isinstance(Terminal(quiet=True).progress(), Silent)
    assert isinstance(Terminal().progress(), ProgressBar)


def test_short_work_shows_no_bar() -> None:
    before = set(threading.enumerate())
    stream = Stream(True)
    bar = ProgressBar(stream, color=False)
    bar.start(1000)
    bar.advance(1000, 10)
    bar.stage("measuring freshness")
    bar.done()
    bar.done()
    assert stream.getvalue() == ""
    assert set(threading.enumerate()) <= before


def test_long_work_shows_bytes_rate_and_time_left() -> None:
    stream = Stream(True)
    bar = ProgressBar(stream, color=False, show_after_seconds=0)
    bar.start(2_000_000)
    bar.advance(1_000_000, 500)
    shown = wait_for(stream, lambda text: "left" in text)
    bar.stage("measuring freshness")
    wait_for(stream, lambda text: "Measuring freshness" in text)
    bar.done()
    assert "Reading" in shown
    assert "1.0 MB of 2.0 MB" in shown
    assert "spans/s" in shown


def wait_for(stream: Stream, holds: Callable[[str], bool]) -> str:
    for _ in range(100):
        if holds(stream.getvalue()):
            return stream.getvalue()
        threading.Event().wait(0.05)
    raise AssertionError(stream.getvalue())
