"""The result and the content hash of a call, from whatever its span holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from visceral_cli.calls import places
from visceral_cli.calls.convention import Convention
from visceral_cli.calls.encryption import SectionOpener, sealed_length, section_of
from visceral_cli.calls.ignored import without_paths
from visceral_cli.calls.remembered import Remembered
from visceral_cli.calls.results import Result, read_result, read_results
from visceral_cli.calls.tool_call import CallKind, ContentMissing
from visceral_cli.contract import attributes as names
from visceral_cli.contract.identity import content_hash, content_hashes
from visceral_cli.ingest.span import Span
from visceral_cli.settings import NO_DECLARATION, ToolDeclaration

# Looked up once: reading a member off its class costs a tenth of a microsecond.
_TOOL, _ENCRYPTED = CallKind.TOOL, ContentMissing.ENCRYPTED


class Content(msgspec.Struct, frozen=True, gc=False):
    """A result with its content hash; ``None`` exactly when the result is missing."""

    result: Result
    content_hash: str | None


class ContentReader:
    """Reads results; remembers those of texts it has read."""

    def __init__(self, opener: SectionOpener) -> None:
        self._opener = opener
        self._known: Remembered[Content] = Remembered()

    def read(
        self, span: Span, row: Convention, kind: CallKind, declaration: ToolDeclaration
    ) -> Content:
        """Return the content of the one call that a span tells of.

        Raises `UsageError` when a captured section needs another workspace key.
        """
        raw: object = None
        if kind is not _TOOL:
            raw = places.documents(row, kind, span.attributes)
            if raw is not None and span.dropped_attributes:
                return Content(Result(ContentMissing.DROPPED_ATTRIBUTES), None)
        if raw is None:
            raw = places.raw_result(span, row)
        if raw is None and row.sealed:
            raw, length = self._unseal(span.attributes)
            if raw is None and length is not None:
                return Content(Result(_ENCRYPTED, length=length), None)
        if raw is None:
            dropped = bool(span.dropped_attributes)
            reason = ContentMissing.DROPPED_ATTRIBUTES if dropped else ContentMissing.NOT_CAPTURED
            return Content(Result(reason), None)
        mime = places.text_or_none(span.attributes, row.result_mime)
        if type(raw) is not str:
            return hashed(read_result(raw, row, mime=mime, declaration=declaration), declaration)
        return self.read_text(raw, row, mime, declaration)

    def read_text(
        self, raw: str, row: Convention, mime: str | None, declaration: ToolDeclaration
    ) -> Content:
        """Return the content of a call whose result stands in one text."""
        (content,) = self.read_texts((raw,), row, mime, declaration)
        return content

    def read_texts(
        self, raws: Sequence[str], row: Convention, mime: str | None, declaration: ToolDeclaration
    ) -> list[Content]:
        """Return the contents of calls whose results stand in one text each."""
        way = row.name, mime, None if declaration is NO_DECLARATION else declaration
        contents = list(map(self._known.known(way).get, raws))
        new = [raw for raw, content in zip(raws, contents, strict=True) if content is None]
        if not new:
            return contents  # type: ignore[return-value]
        new = list(dict.fromkeys(new))
        results = read_results(new, row, mime=mime, declaration=declaration)
        read = self._known.keep(way, new, _all_hashed(results, declaration))
        return [
            read[raw] if content is None else content
            for raw, content in zip(raws, contents, strict=True)
        ]

    def _unseal(self, attributes: Mapping[str, object]) -> tuple[str | None, int | None]:
        """Return the plaintext and its length; the length is known without the key."""
        if not self._opener.has_keys:
            return None, sealed_length(attributes, names.OUTPUT_SECTION)
        section = section_of(attributes, names.OUTPUT_SECTION)
        if section is None:
            return None, None
        return self._opener.open(section), len(section.ciphertext)


def _all_hashed(results: Sequence[Result], declaration: ToolDeclaration) -> list[Content]:
    """Return what `hashed` does for each."""
    if declaration.ignore_result:
        return [hashed(result, declaration) for result in results]
    hashes = content_hashes([result.text for result in results])
    return list(map(Content, results, hashes))


def hashed(result: Result, declaration: ToolDeclaration = NO_DECLARATION) -> Content:
    """Return a result with its content hash, which leaves out what the user says does not count."""
    text = result.text
    if text is not None and declaration.ignore_result:
        text = without_paths(text, declaration.ignore_result)
    return Content(result, None if text is None else content_hash(text))
