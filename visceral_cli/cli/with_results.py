"""``visceral rules --with-results``: the results under the rules into the store of a runtime."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from visceral_cli.cli.key_file import parse_keys
from visceral_cli.cli.terminal import Terminal
from visceral_cli.cli.wrong_value import WrongValue
from visceral_cli.contract.seed import NotSeeded
from visceral_cli.errors import UsageError

if TYPE_CHECKING:
    from visceral_cli.rules.seeds import ChosenSeeds
    from visceral_cli.runtime.encryption import Key
    from visceral_cli.runtime.stores.result_store import ResultStore

CAPTURE_KEY = "VISCERAL_CAPTURE_KEY"
_MOST_LINES = 10


@dataclass(frozen=True, slots=True)
class ResultsPlace:
    """A store of results, and the key that results are encrypted with there."""

    name: str
    """As it may be shown: without the password of a URL."""
    store: ResultStore
    key: Key | None

    def seed(self, chosen: ChosenSeeds, terminal: Terminal) -> None:
        """Write the results, and say how many.

        Raises:
            UsageError: the store cannot be written.
        """
        from visceral_cli.runtime.seeding import seed_results
        from visceral_cli.runtime.stores.result_store import StoreFailed

        try:
            done = seed_results(self.store, chosen.seeds, key=self.key, now_ns=time.time_ns())
        except StoreFailed as failure:
            raise UsageError(f"{self.name}: results cannot be written: {failure}") from None
        finally:
            self.store.close()
        _say(self.name, done.seeded, done.left_out + chosen.left_out, done.evicted, terminal)


def open_results(
    place: str, workspace_keys: Mapping[str, bytes], environment: Mapping[str, str]
) -> ResultsPlace:
    """Return the store of a path, ``redis://...`` or ``postgresql://...``.

    Raises:
        UsageError: it names none, its client is not installed, or there is no one key for it.
    """
    from visceral_cli.runtime.stores.open_store import open_store

    name = _shown(place)
    try:
        store = open_store(place)
    except ImportError as error:
        raise UsageError(
            f"--with-results: {name} needs the package {error.name}",
            hint="the extras redis and postgres of visceral-cli bring the clients",
        ) from None
    except Exception as error:  # noqa: BLE001 - a client's own words may quote a password
        raise UsageError(
            f"--with-results: {name}: names no store ({type(error).__name__})"
        ) from None
    return ResultsPlace(name, store, _key(workspace_keys, environment))


def _key(workspace_keys: Mapping[str, bytes], environment: Mapping[str, str]) -> Key | None:
    """Return the key of the runtime: its variable, else the one that opens the traces.

    What was recorded encrypted is so never kept in clear.
    """
    given = environment.get(CAPTURE_KEY)
    keys = dict(workspace_keys)
    if given is not None:
        try:
            keys = parse_keys(given)
        except WrongValue as wrong:
            raise UsageError(f"{CAPTURE_KEY}: {wrong}", hint=wrong.hint) from None
    if not keys:
        return None
    if len(keys) > 1:
        raise UsageError(
            "--with-results: several workspace keys are given, and results are kept under one",
            hint=f"name the key of the runtime in {CAPTURE_KEY}",
        )
    from visceral_cli.runtime.encryption import Key

    return Key(next(iter(keys.values())))


def _shown(place: str) -> str:
    scheme, separator, _ = place.partition("://")
    if not separator:
        return place
    try:
        return f"{scheme}://{urlsplit(place).netloc.rpartition('@')[2]}"
    except ValueError:
        return f"{scheme}://"


def _say(
    name: str,
    seeded: Counter[str],
    left_out: Counter[tuple[str, NotSeeded]],
    evicted: int,
    terminal: Terminal,
) -> None:
    from visceral_cli.report.plain_text import plain
    from visceral_cli.report.quantities import counted, listed

    by_tool = {plain(tool): number for tool, number in seeded.items()}
    told = f" ({listed(by_tool, most=5)})" if seeded else ""
    made_room = f", for which {counted(evicted, 'older one')} went" if evicted else ""
    terminal.note(f"{name}: {counted(seeded.total(), 'result')} seeded{told}{made_room}")
    if not left_out:
        return
    terminal.note(f"{name}: {counted(left_out.total(), 'result')} not seeded")
    lines = [
        f"{plain(tool)}: {number:,}, {why}" for (tool, why), number in sorted(left_out.items())
    ]
    for line in lines[:_MOST_LINES]:
        terminal.note(f"  {line}")
    if len(lines) > _MOST_LINES:
        terminal.note(f"  {len(lines) - _MOST_LINES} more (-v lists them)")
    for line in lines[_MOST_LINES:]:
        terminal.detail(line)
    if any(why is NotSeeded.NO_RESULT for _, why in left_out):
        terminal.note('  results are recorded with capture="clear", or encrypted with a key')
