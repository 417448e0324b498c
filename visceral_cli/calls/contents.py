"""The result of a call, from whatever its span holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from visceral_cli.calls import places
from visceral_cli.calls.convention import Convention
from visceral_cli.calls.encryption import SectionOpener, sealed_length, section_keys, section_of
from visceral_cli.calls.remembered import Remembered
from visceral_cli.calls.results import Result, read_result, read_results
from visceral_cli.calls.span_group import SpanGroup
from visceral_cli.calls.tool_call import CallKind, ContentMissing
from visceral_cli.contract import attributes as names
from visceral_cli.ingest.span import Span
from visceral_cli.settings import NO_DECLARATION, ToolDeclaration

# Looked up once: reading a member off its class costs a tenth of a microsecond.
_TOOL, _ENCRYPTED = CallKind.TOOL, ContentMissing.ENCRYPTED

_NOTHING = Result(ContentMissing.NOT_CAPTURED)


class ContentReader:
    """Reads results; remembers those of texts it has read."""

    def __init__(self, opener: SectionOpener) -> None:
        self._opener = opener
        self._known: Remembered[Result] = Remembered()

    def read(
        self, span: Span, row: Convention, kind: CallKind, declaration: ToolDeclaration
    ) -> Result:
        """Return the result of the one call that a span tells of.

        Raises `UsageError` when a captured section needs another workspace key.
        """
        raw: object = None
        if kind is not _TOOL:
            raw = places.documents(row, kind, span.attributes)
            if raw is not None and span.dropped_attributes:
                return Result(ContentMissing.DROPPED_ATTRIBUTES)
        if raw is None:
            raw = places.raw_result(span, row)
        if raw is None and row.sealed:
            raw, length = self._unseal(span.attributes)
            if raw is None and length is not None:
                return Result(_ENCRYPTED, length=length)
        if raw is None:
            dropped = bool(span.dropped_attributes)
            reason = ContentMissing.DROPPED_ATTRIBUTES if dropped else ContentMissing.NOT_CAPTURED
            return Result(reason)
        mime = places.text_or_none(span.attributes, row.result_mime)
        if type(raw) is not str:
            return read_result(raw, row, mime=mime, declaration=declaration)
        return self.read_text(raw, row, mime, declaration)

    def read_text(
        self, raw: str, row: Convention, mime: str | None, declaration: ToolDeclaration
    ) -> Result:
        """Return the result of a call that stands in one text."""
        (result,) = self.read_texts((raw,), row, mime, declaration)
        return result

    def read_texts(
        self, raws: Sequence[str], row: Convention, mime: str | None, declaration: ToolDeclaration
    ) -> list[Result]:
        """Return the results of calls that stand in one text each."""
        way = row.name, mime, None if declaration is NO_DECLARATION else declaration
        results = list(map(self._known.known(way).get, raws))
        new = [raw for raw, result in zip(raws, results, strict=True) if result is None]
        if not new:
            return results  # type: ignore[return-value]
        new = list(dict.fromkeys(new))
        read = self._known.keep(
            way, new, read_results(new, row, mime=mime, declaration=declaration)
        )
        return [
            read[raw] if result is None else result
            for raw, result in zip(raws, results, strict=True)
        ]

    def without_text(self, row: Convention, spans: SpanGroup) -> list[Result]:
        """Return what :meth:`read` does for tools' spans without a key of the result.

        Without workspace keys: of a sealed result the length is known.
        """
        keys = section_keys(names.OUTPUT_SECTION)
        if not row.sealed or not all(key in spans.keys for key in keys):
            return [_NOTHING] * len(spans)
        lengths = map(sealed_length, *map(spans.column, keys))
        return [
            _NOTHING if length is None else Result(_ENCRYPTED, length=length) for length in lengths
        ]

    def _unseal(self, attributes: Mapping[str, object]) -> tuple[str | None, int | None]:
        """Return the plaintext and its length; the length is known without the key."""
        if not self._opener.has_keys:
            parts = (attributes.get(key) for key in section_keys(names.OUTPUT_SECTION))
            return None, sealed_length(*parts)
        section = section_of(attributes, names.OUTPUT_SECTION)
        if section is None:
            return None, None
        return self._opener.open(section), len(section.ciphertext)
