"""The bar of a long run: bytes, spans per second and time left, on stderr."""

from __future__ import annotations

import threading
import time
from typing import Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.text import Text

from visceral_cli.report.quantities import age_text, bytes_text

SHOW_AFTER_SECONDS = 0.5
"""Shorter work needs no bar; one that flashes by only disturbs."""


class ProgressBar:
    """Draws what a run tells; nothing before half a second has passed."""

    def __init__(
        self, stream: TextIO, *, color: bool, show_after_seconds: float = SHOW_AFTER_SECONDS
    ) -> None:
        console = Console(
            file=stream,
            force_terminal=True,
            color_system="auto" if color else None,
            no_color=not color,
            markup=False,
            highlight=False,
            emoji=False,
        )
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            _KnownLength(bar_width=24),
            _Amounts(),
            console=console,
            transient=True,
            refresh_per_second=8,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._bar.add_task("Starting", total=None, spans=0, began=time.monotonic())
        self._show_after = show_after_seconds
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()
        self._over = False

    def start(self, total_bytes: int | None) -> None:
        """Reading begins."""
        self._begin("Reading", total_bytes)
        self._show_soon()

    def advance(self, bytes_done: int, spans: int) -> None:
        """Add what was read."""
        task = self._bar.tasks[0]
        self._bar.update(self._task, advance=bytes_done, spans=task.fields["spans"] + spans)

    def stage(self, name: str) -> None:
        """Show a stage without a known length."""
        self._begin(f"{name[:1].upper()}{name[1:]}", None)

    def done(self) -> None:
        """Take the bar away."""
        with self._lock:
            self._over = True
            timer = self._timer
            self._bar.stop()
        if timer is not None:
            timer.cancel()
            timer.join()

    def _begin(self, description: str, total: int | None) -> None:
        began = time.monotonic()
        self._bar.reset(self._task, description=description, total=total, spans=0, began=began)
        self._show_soon()

    def _show_soon(self) -> None:
        with self._lock:
            if self._timer is None and not self._over:
                self._timer = threading.Timer(self._show_after, self._show)
                self._timer.daemon = True
                self._timer.start()

    def _show(self) -> None:
        with self._lock:
            if not self._over:
                self._bar.start()


class _KnownLength(BarColumn):
    """A bar where the length of the work is known."""

    def render(self, task: Task) -> Any:
        """Return the bar, or nothing."""
        return super().render(task) if task.total else Text("")


class _Amounts(ProgressColumn):
    """``312 MB of 1.0 GB  184,000 spans/s  6.2 s left``, or for how long it has been going on."""

    def render(self, task: Task) -> Text:
        """Return the amounts of the task."""
        seconds = max(time.monotonic() - task.fields["began"], 1e-9)
        if not task.completed:
            return Text(f"{seconds:.0f} s" if seconds >= 1 else "")
        done, total = int(task.completed), task.total
        parts = [bytes_text(done) + (f" of {bytes_text(int(total))}" if total else "")]
        if task.fields["spans"]:
            parts.append(f"{task.fields['spans'] / seconds:,.0f} spans/s")
        if total and done < total:
            parts.append(f"{age_text(seconds * (total - done) / done)} left")
        return Text("  ".join(parts))
