"""``wrap()``: one call at start-up that installs recording and serving."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, TypeVar

from visceral_cli.runtime import environment
from visceral_cli.runtime.capture import Capture, CaptureMode
from visceral_cli.runtime.declaration import is_text
from visceral_cli.runtime.encryption import Key, parse_key
from visceral_cli.runtime.installed import INSTALLATION, Runtime
from visceral_cli.runtime.outcome import Listener, Outcomes
from visceral_cli.runtime.recorder import Recorder
from visceral_cli.runtime.results import Results
from visceral_cli.runtime.rule_set import RulesFile
from visceral_cli.runtime.serve import look_at
from visceral_cli.runtime.spans import NoSpans, OpenTelemetrySpans, Spans
from visceral_cli.runtime.stores.open_store import open_store
from visceral_cli.runtime.stores.result_store import ResultStore

logger = logging.getLogger("visceral_cli.runtime")

Client = TypeVar("Client")

START_SECONDS = 3.0
"""How long the rules may take to be read at start-up."""


def wrap(
    client: Client,
    agent_id: str,
    *,
    apply: bool = False,
    rules: Path | str | None = None,
    results: ResultStore | Path | str | None = None,
    trace_file: Path | str | None = None,
    tracer_provider: Any = None,
    capture: CaptureMode | str | None = None,
    key: bytes | str | None = None,
    key_id: str | None = None,
    on_outcome: Listener | None = None,
) -> Client:
    """Install recording and serving for the decorated tools of this process; returns ``client``.

    Spans go to ``trace_file`` (or ``VISCERAL_TRACE_FILE``) as OTLP JSON lines, or to
    ``tracer_provider``, an OpenTelemetry provider; the global one is never touched.

    With ``apply=True`` calls are served by the rules file ``rules`` (or ``VISCERAL_RULES_FILE``)
    from ``results`` (or ``VISCERAL_RESULTS_STORE``, or a file in the user's cache folder): a path,
    ``redis://...``, ``postgresql://...`` or a store.

    ``capture``: what spans say of results: ``hashes`` (the default), ``encrypted`` (the default
    with a key), or ``clear``. ``key`` (or ``VISCERAL_CAPTURE_KEY``): 32 bytes, or their base64
    text, alone or as ``KEY_ID=BASE64``; results at rest are encrypted with it as well. If
    encryption was asked for and there is no usable key, neither values nor results are written.

    Raises ``ValueError`` for an empty ``agent_id`` or an unknown ``capture``. Whatever else goes
    wrong is logged once, and the agent runs as it is.
    """
    if not is_text(agent_id):
        raise ValueError("agent_id is a text that is not empty")
    mode = None if capture is None else CaptureMode(capture)
    given = environment.capture_key() if key is None else key
    secret = _key(given, key_id)
    if mode is None:
        mode = CaptureMode.HASHES if given is None else CaptureMode.ENCRYPTED
    lacks_key = secret is None and (given is not None or mode is CaptureMode.ENCRYPTED)
    if lacks_key:
        mode = CaptureMode.ENCRYPTED
        logger.warning("visceral: no usable key: values are not recorded, results are not kept")

    named = results is not None or environment.results_store() is not None
    store = _results(results, secret) if (apply or named) and not lacks_key else None
    previous = INSTALLATION.runtime
    INSTALLATION.runtime = Runtime(
        agent_id=agent_id,
        spans=_spans(agent_id, trace_file, tracer_provider),
        capture=Capture(mode, secret),
        rules=_rules(rules) if apply else None,
        results=store if apply else None,
        cache_results=store,
        may_keep=not lacks_key,
        outcomes=Outcomes(on_outcome),
    )
    _close(previous)
    return client


def unwrap() -> None:
    """Undo `wrap`: what is waiting is written, and decorated tools run as they are."""
    previous, INSTALLATION.runtime = INSTALLATION.runtime, Runtime()
    _close(previous)


def outcomes() -> Outcomes:
    """Return the counts of what became of the calls since `wrap`."""
    return INSTALLATION.runtime.outcomes


def flush() -> None:
    """Write the spans that are waiting."""
    INSTALLATION.runtime.spans.flush()


def _key(given: bytes | str | None, key_id: str | None) -> Key | None:
    if given is None:
        return None
    try:
        if isinstance(given, bytes):
            return Key(given, key_id)
        parsed = parse_key(given)
        return None if parsed is None else Key(parsed[0], key_id or parsed[1])
    except (ValueError, TypeError, ImportError):
        return None


def _spans(agent_id: str, trace_file: Path | str | None, provider: Any) -> Spans:
    try:
        if provider is not None:
            return OpenTelemetrySpans(provider)
        path = trace_file or environment.trace_file()
        return NoSpans() if path is None else Recorder(path, agent_id=agent_id)
    except Exception as error:  # noqa: BLE001 - the agent must run
        logger.warning("visceral: spans are not recorded (%s)", type(error).__name__)
        return NoSpans()


def _rules(given: Path | str | None) -> RulesFile | None:
    path = given or environment.rules_file()
    if path is None:
        logger.warning("visceral: apply=True without a rules file: nothing is served")
        return None
    rules = RulesFile(path)
    try:
        look_at(rules, seconds=START_SECONDS)
    except RuntimeError as error:  # no more threads
        logger.warning("visceral: the rules were not read (%s)", type(error).__name__)
    return rules


def _results(given: ResultStore | Path | str | None, key: Key | None) -> Results | None:
    try:
        place = given or environment.results_store() or environment.default_store_path()
        opened = Results(open_store(place) if isinstance(place, Path | str) else place, key=key)
        opened.warm_up()
        return opened
    except Exception as error:  # noqa: BLE001 - the agent must run
        logger.warning("visceral: no store of results (%s): none are kept", type(error).__name__)
        return None


def _close(runtime: Runtime) -> None:
    close = getattr(runtime.spans, "close", runtime.spans.flush)
    try:
        close()
        if runtime.cache_results is not None:
            runtime.cache_results.close()
    except Exception as error:  # noqa: BLE001 - the agent must run
        logger.debug("visceral: the end of the installation failed (%s)", type(error).__name__)
