"""Calls of many spans that are alike: of one convention, with the same keys.

Where a convention tells a call by one attribute each for its tool, arguments and result, nothing
has to be decided span by span: every field of the calls is one list, read in one go. It gives what
:class:`~visceral_cli.calls.extract.Extractor` gives for each span alone, and does less for it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from visceral_cli.calls import places
from visceral_cli.calls.arguments import Arguments
from visceral_cli.calls.attested import attest
from visceral_cli.calls.call_columns import CallColumns
from visceral_cli.calls.contents import ContentReader
from visceral_cli.calls.convention import Convention
from visceral_cli.calls.identities import Identity, IdentityReader, declared_vary
from visceral_cli.calls.results import Result
from visceral_cli.calls.span_group import SpanGroup, named, services, texts
from visceral_cli.calls.tool_call import CallKind, ContentMissing
from visceral_cli.contract.attributes import VARY
from visceral_cli.contract.identity import HASH_VERSION
from visceral_cli.ingest.span import ERROR
from visceral_cli.settings import NO_DECLARATION, ExtractSettings, ToolDeclaration

_SERVICE = "service.name"

# Looked up once: reading a member off its class costs a tenth of a microsecond.
_TOOL, _FAILED = CallKind.TOOL, ContentMissing.FAILED


def is_told_plainly(
    row: Convention, kind: CallKind, keys: Mapping[str, object], *, opens_sections: bool
) -> bool:
    """Whether spans of a row narrowed to ``keys`` can be read here.

    Those with events or lost attributes cannot, whatever their row; nor those with encrypted
    sections where ``opens_sections`` says that there are keys.
    """
    return (
        kind is _TOOL
        and len(row.tool) == 1
        and _is_one_key(row.arguments, keys)
        and _is_one_key(row.result, keys)
        and not (row.sealed and opens_sections)
        and not (row.several or row.phased or row.only_messages)
        and not (row.empty_pair_is_missing or row.server_side)
        and not (row.schema or row.documents or row.failed_if or row.cost)
    )


def _is_one_key(wanted: tuple[str, ...], keys: Mapping[str, object]) -> bool:
    return not wanted or (len(wanted) == 1 and wanted[0] in keys)


class AlikeReader:
    """Reads spans that are alike into columns of calls."""

    def __init__(
        self, settings: ExtractSettings, identities: IdentityReader, contents: ContentReader
    ) -> None:
        self._tools = settings.tools
        self._namespace = settings.namespace_attribute
        self._principal = settings.principal_attribute
        self._identities = identities
        self._contents = contents

    def read(
        self, spans: SpanGroup, records: Sequence[int], row: Convention, columns: CallColumns
    ) -> None:
        """Add the calls of spans, one each; :func:`is_told_plainly` holds for their row."""
        tools = texts(spans, row.tool)
        if None in tools:
            for place, name in enumerate(spans.field("name")):
                if tools[place] is None:
                    tools[place] = places.tool_in_name(name, row)
        names: list[str] = tools  # type: ignore[assignment]
        if not row.pseudo_tools.isdisjoint(names):
            kept = [place for place, name in enumerate(names) if name not in row.pseudo_tools]
            if kept:
                self.read(spans.part(kept), [records[place] for place in kept], row, columns)
            return
        declared = {name: self._tools.get(name, NO_DECLARATION) for name in set(names)}
        versions = _versions(spans, row, names, declared)
        identities = self._read_identities(spans, row, names, versions, declared)
        results = self._read_results(spans, row, names, declared)
        arguments = [identity.arguments for identity in identities]
        failed = [
            status == ERROR or result.failed
            for status, result in zip(spans.field("status"), results, strict=True)
        ]
        hashes = [identity.input_hash for identity in identities]
        told: dict[str, list[Any]] = {
            "trace_id": spans.field("trace_id"),
            "span_id": spans.field("span_id"),
            "parent_span_id": spans.field("parent_span_id"),
            "tool": names,
            "kind": [_TOOL] * len(spans),
            "convention": [row.name] * len(spans),
            "start_ns": spans.field("start_ns"),
            "end_ns": spans.field("end_ns"),
            "position": [0] * len(spans),
            "failed": failed,
            "service": services(spans),
            "scope": spans.field("scope"),
            "span_kind": spans.field("kind"),
            "version": [None if version is None else str(version) for version in versions],
            "arguments": [one.text for one in arguments],
            "unnamed_arguments": [one.unnamed for one in arguments],
            "input_hash": hashes,
            "hash_v": [None if hash_ is None else HASH_VERSION for hash_ in hashes],
            "recorded_hash": [False] * len(spans),
            "hash_disagrees": [False] * len(spans),
            "identity_missing": [one.missing for one in arguments],
            "result": [result.text for result in results],
            "content_hash": [result.content_hash for result in results],
            "content_missing": [result.missing for result in results],
            "content_bytes": [result.length for result in results],
            "empty_result": [result.empty for result in results],
            "call_id": _call_ids(spans, row, arguments, results),
            "session": texts(spans, row.session),
            "user": texts(spans, row.user)
            if self._principal is None
            else named(spans, self._principal),
            "agent": texts(spans, row.agent),
            "principal": self._separators(spans),
        }
        if True in failed:
            # Whatever a failed execution left behind is no result to be reused.
            for place, one in enumerate(failed):
                if one:
                    told["content_hash"][place] = None
                    told["content_missing"][place] = _FAILED
        if row.attested:
            attest(told, spans, arguments)
        columns.add_columns(records, told)

    def _read_identities(
        self,
        spans: SpanGroup,
        row: Convention,
        tools: Sequence[str],
        versions: Sequence[object],
        declared: Mapping[str, ToolDeclaration],
    ) -> list[Identity]:
        if not row.arguments:
            return [self._identities.without_text(row, spans.keys)] * len(spans)
        found: list[Any] = [None] * len(spans)
        raws = spans.column(row.arguments[0])
        varies = _varies(spans, row, tools, declared)
        ways = zip(tools, _mimes(spans, row.argument_mime), versions, varies, strict=True)
        for (tool, mime, version, vary), alike in _texts_by_way(_plainly(raws, versions), ways):
            texts = [raws[place] for place in alike]
            read = self._identities.read_texts(texts, row, mime, tool, version, vary)
            for place, identity in zip(alike, read, strict=True):
                found[place] = identity
        for place, identity in enumerate(found):
            if identity is None:
                tool = tools[place]
                found[place] = self._identities.read(
                    spans.span(place), row, _TOOL, tool, versions[place], declared[tool]
                )
        return found

    def _read_results(
        self,
        spans: SpanGroup,
        row: Convention,
        tools: Sequence[str],
        declared: Mapping[str, ToolDeclaration],
    ) -> list[Result]:
        if not row.result:
            return self._contents.without_text(row, spans)
        found: list[Any] = [None] * len(spans)
        raws = spans.column(row.result[0])
        # Results are read in one way unless the user declares something of the tool.
        apart = {tool: None if one is NO_DECLARATION else tool for tool, one in declared.items()}
        ways = zip([apart[tool] for tool in tools], _mimes(spans, row.result_mime), strict=True)
        for (told, mime), alike in _texts_by_way(raws, ways):
            declaration = NO_DECLARATION if told is None else declared[told]
            texts = [raws[place] for place in alike]
            read = self._contents.read_texts(texts, row, mime, declaration)
            for place, result in zip(alike, read, strict=True):
                found[place] = result
        for place, result in enumerate(found):
            if result is None:
                declaration = declared[tools[place]]
                found[place] = self._contents.read(spans.span(place), row, _TOOL, declaration)
        return found

    def _separators(self, spans: SpanGroup) -> list[str | None]:
        """Return what separates the results of each span from those of others."""
        namespace = self._namespace
        if namespace is None:
            return [None] * len(spans)
        if namespace == _SERVICE and namespace not in spans.keys:
            return services(spans)
        return named(spans, namespace)


def _versions(
    spans: SpanGroup,
    row: Convention,
    tools: Sequence[str],
    declared: Mapping[str, ToolDeclaration],
) -> list[Any]:
    """Return the version of each tool, as the span tells it, else as the user declared it."""
    versions: list[Any] = [declared[tool].version for tool in tools]
    for key in reversed(row.version):
        told = zip(spans.column(key), versions, strict=True)
        versions = [other if version is None else version for version, other in told]
    return versions


def _varies(
    spans: SpanGroup,
    row: Convention,
    tools: Sequence[str],
    declared: Mapping[str, ToolDeclaration],
) -> list[tuple[str, ...] | None]:
    """Return the arguments that count, by call; ``None`` for all."""
    varies = [declared[tool].vary for tool in tools]
    if row.attested and VARY in spans.keys:
        told = zip(spans.column(VARY), varies, strict=True)
        return [declared_vary(names, other) for names, other in told]
    return varies


def _plainly(raws: list[Any], versions: Sequence[object]) -> list[Any]:
    """Leave out the arguments of tools with a version that is no text."""
    plain = [version is None or type(version) is str for version in versions]
    if all(plain):
        return raws
    return [raw if one else None for raw, one in zip(raws, plain, strict=True)]


def _mimes(spans: SpanGroup, key: str | None) -> list[str | None]:
    if key is None or key not in spans.keys:
        return [None] * len(spans)
    return list(map(places.text_of, spans.column(key)))


Way = TypeVar("Way", bound=Hashable)


def _texts_by_way(raws: Sequence[object], ways: Iterable[Way]) -> list[tuple[Way, list[int]]]:
    """Return the places of texts, those together that are read in the same way."""
    groups: dict[Way, list[int]] = {}
    for place, (raw, way) in enumerate(zip(raws, ways, strict=True)):
        if type(raw) is str:
            group = groups.get(way)
            if group is None:
                groups[way] = [place]
            else:
                group.append(place)
    return list(groups.items())


def _call_ids(
    spans: SpanGroup, row: Convention, arguments: Sequence[Arguments], results: Sequence[Result]
) -> list[str | None]:
    found: list[str | None] = [None] * len(spans)
    for key in reversed(row.call_id):
        told = map(places.as_call_id, spans.column(key))
        found = [later if one is None else one for one, later in zip(told, found, strict=True)]
    if None in found:
        for place, one in enumerate(found):
            if one is None:
                found[place] = arguments[place].call_id or results[place].call_id
    return found
