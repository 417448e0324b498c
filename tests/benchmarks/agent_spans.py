"""Agents at work: an endless stream of spans, the same for the same seed.

The mixture is described in ``generate.py``, which writes it.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import orjson

SECOND = 1_000_000_000
START_NS = 1_772_442_000 * SECOND
TRACE_EVERY_NS = 40 * SECOND
SPANS_A_LINE = 50
REPEAT_SHARE = 0.3
ERROR_SHARE = 0.02

WORD_TEXT = (
    "account address agent airport amount answer archive balance billing booking branch budget "
    "cabin calendar carrier change charge check city claim client code contact contract country "
    "credit customer data date delay delivery department deposit detail discount document draft "
    "email employee entry event exchange expense fare fee file flight form guest history hotel "
    "hour invoice item journey label ledger limit list location luggage manager meeting member "
    "message minute month name note notice number office order owner package page partner "
    "passenger payment period phone place plan policy price product profile project quote rate "
    "reason receipt record refund region report request reservation result return review route "
    "rule sale schedule seat section service session ship status step stock store summary "
    "supplier support table task tax team term ticket time total train transfer travel trip type "
    "update user value vendor version visit voucher week weight year zone Zürich São Kraków"
)
WORDS = WORD_TEXT.split()

TOOLS = (
    ("search_docs", '{"query":"%s","top_k":5,"page":%d}', 0),
    ("get_customer", '{"customer_id":"c-%07d"}', 0),
    ("list_orders", '{"customer_id":"c-%07d","status":"open","limit":20}', 6 * 3600 * SECOND),
    ("get_weather", '{"city":"%s","station":%d,"units":"metric"}', 600 * SECOND),
    ("query_table", '{"sql":"select * from bookings where id = %d and region = \'eu\'"}', 0),
    ("fetch_page", '{"url":"https://help.example.com/articles/%d?lang=en"}', 0),
    ("get_stock", '{"sku":"SKU-%07d","warehouse":"north"}', 3600 * SECOND),
    ("convert_price", '{"amount":%d,"from":"EUR","to":"USD"}', 24 * 3600 * SECOND),
)
"""Name, arguments (with a slot for the number of the identity), and how long a result stays."""

Value = str | int | float | bool
Attributes = list[tuple[str, Value]]


@dataclass(slots=True)
class MadeSpan:
    """One span, before it is written as JSON or protobuf."""

    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    name: str
    kind: int
    start_ns: int
    end_ns: int
    attributes: Attributes
    failed: bool = False


@dataclass(slots=True)
class Call:
    """What one tool call asks for and gets."""

    call_id: str
    tool: str
    arguments: str
    result: str
    failed: bool


def recorded_hash(tool: str, arguments: str) -> str:
    """The input hash as the Visceral SDK writes it: contract version 1, no version declared."""
    identity = {"args": json.loads(arguments), "tool": tool, "version": None}
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def phrase(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(WORDS, k=words))


def result_pool(rng: random.Random, size: int, largest: int) -> list[str]:
    """JSON texts of 200 to ``largest`` bytes with slots for the identity and its version."""
    pool = []
    for _ in range(size):
        length = int(200 * (largest / 200) ** rng.random())
        rows: list[dict[str, object]] = []
        while len(json.dumps(rows)) < length - 80:
            rows.append(
                {
                    "id": rng.randrange(10**6),
                    "title": phrase(rng, 3),
                    "text": phrase(rng, rng.randrange(2, 16)),
                    "score": round(rng.random(), 4),
                    "active": rng.random() < 0.5,
                }
            )
        text = json.dumps(rows, ensure_ascii=False)
        pool.append('{"ref":%d,"version":%d,"total":' + f'{len(rows)},"items":{text}' + "}")
    return pool


class Calls:
    """The tool calls of one service: new questions, and repeats of old ones."""

    def __init__(self, rng: random.Random, identities: str, *, tools_only: bool) -> None:
        self._rng = rng
        self._identities = identities
        # Small calls are all of one tool and one length, so that only their number is compared.
        self._tools = TOOLS[:1] if tools_only else TOOLS
        self._pool = result_pool(rng, 1 if tools_only else 500, 300 if tools_only else 1500)
        self._phrases = [phrase(rng, 4) for _ in range(1 if tools_only else 500)]
        self._first = 1_000_000 if tools_only else 0
        self._asked = 0
        self._recent: deque[int] = deque([0], maxlen=12)

    def _identity(self) -> int:
        if self._identities == "one":
            return self._first
        draw = self._rng.random()
        if self._identities == "many" or not self._asked or draw >= REPEAT_SHARE:
            self._asked += 1
            return self._first + self._asked
        if draw < REPEAT_SHARE / 2:
            return self._rng.choice(self._recent)
        return int(self._asked ** self._rng.random())

    def next(self, start_ns: int) -> Call:
        """Return the next call, made at ``start_ns``."""
        number = self._identity()
        self._recent.append(number)
        call_id = f"call_{self._rng.getrandbits(96):024x}"
        tool, template, stays_ns = self._tools[number * 7 % len(self._tools)]
        if template.count("%") == 2:
            arguments = template % (self._phrases[number % len(self._phrases)], number)
        else:
            arguments = template % number
        if self._rng.random() < ERROR_SHARE:
            return Call(call_id, tool, arguments, "Error: the service did not answer", True)
        version = start_ns // stays_ns if stays_ns else 1
        result = self._pool[number * 2654435761 % len(self._pool)] % (number, version)
        return Call(call_id, tool, arguments, result, False)


@dataclass(slots=True)
class Service:
    """One instrumented agent and the spans that it has finished."""

    number: int
    convention: str
    rng: random.Random
    calls: Calls
    tools_only: bool
    prompts: list[str] = field(default_factory=list)
    noise: str = ""
    traces: int = 0

    @property
    def name(self) -> str:
        return f"{self.convention}-agent"

    def spans(self) -> Iterator[MadeSpan]:
        """Yield spans as they end, trace after trace, for ever."""
        while True:
            self.traces += 1
            start_ns = START_NS + self.traces * TRACE_EVERY_NS + self.number * SECOND
            yield from self._trace(start_ns + self.rng.randrange(SECOND))

    def _trace(self, now: int) -> Iterator[MadeSpan]:
        rng = self.rng
        trace_id = rng.randbytes(16)
        root_id = rng.randbytes(8)
        session = f"sess-{self.traces:07d}"
        began = now
        history: list[Call] = []
        for _ in range(rng.choice((4, 5, 5, 6))):
            asked = [self.calls.next(now) for _ in range(rng.choice((1, 2, 2, 3)))]
            if not self.tools_only:
                llm_end = now + rng.randrange(SECOND // 2, 4 * SECOND)
                yield self._span(
                    trace_id, root_id, "chat scripted-1", now, llm_end, self._llm(history, asked)
                )
                now = llm_end
            for call in asked:
                end = now + int(0.02 * SECOND * 50 ** rng.random())
                attributes = self._tool(call, session)
                name = f"execute_tool {call.tool}" if self.convention == "genai" else call.tool
                span = self._span(trace_id, root_id, name, now, end, attributes)
                span.failed = call.failed
                yield span
                now += (end - now) if rng.random() < 0.5 else rng.randrange(SECOND // 100)
            now += SECOND
            history = asked
        if not self.tools_only:
            end = now + rng.randrange(SECOND, 4 * SECOND)
            yield self._span(trace_id, root_id, "chat scripted-1", now, end, self._llm(history, []))
            root = self._span(trace_id, b"", f"invoke_agent {self.name}", began, end, [])
            root.span_id = root_id
            root.attributes = [
                ("openinference.span.kind", "AGENT"),
                ("gen_ai.operation.name", "invoke_agent"),
                ("gen_ai.agent.name", self.name),
                ("session.id", session),
                ("input.value", rng.choice(self.prompts)[:400]),
            ]
            yield root

    def _span(
        self,
        trace_id: bytes,
        parent_id: bytes,
        name: str,
        start_ns: int,
        end_ns: int,
        attributes: Attributes,
    ) -> MadeSpan:
        span_id = self.rng.randbytes(8)
        return MadeSpan(trace_id, span_id, parent_id, name, 1, start_ns, end_ns, attributes)

    def _tool(self, call: Call, session: str) -> Attributes:
        if self.convention == "genai":
            return [
                ("gen_ai.operation.name", "execute_tool"),
                ("gen_ai.tool.name", call.tool),
                ("gen_ai.tool.type", "function"),
                ("gen_ai.tool.call.id", call.call_id),
                ("gen_ai.tool.description", f"Reads what {call.tool} knows about its subject."),
                ("gen_ai.agent.name", self.name),
                ("gen_ai.conversation.id", session),
                ("gen_ai.tool.call.arguments", call.arguments),
                ("gen_ai.tool.call.result", call.result),
            ]
        if self.convention == "openinference":
            return [
                ("openinference.span.kind", "TOOL"),
                ("tool.name", call.tool),
                ("tool.description", f"Reads what {call.tool} knows about its subject."),
                ("input.value", call.arguments),
                ("input.mime_type", "application/json"),
                ("output.value", call.result),
                ("output.mime_type", "application/json"),
                ("session.id", session),
                ("metadata", '{"langgraph_step": 3, "langgraph_node": "tools"}'),
            ]
        if self.convention == "traceloop":
            return [
                ("traceloop.span.kind", "tool"),
                ("traceloop.entity.name", call.tool),
                ("traceloop.workflow.name", self.name),
                ("traceloop.entity.path", "desk.plan"),
                ("traceloop.association.properties.session_id", session),
                ("traceloop.entity.input", f'{{"args": [], "kwargs": {call.arguments}}}'),
                ("traceloop.entity.output", call.result),
            ]
        return self._visceral(call)

    def _visceral(self, call: Call) -> Attributes:
        attributes: Attributes = [
            ("openinference.span.kind", "TOOL"),
            ("visceral.tool.name", call.tool),
            ("tool.name", call.tool),
            ("visceral.tool.readonly", True),
            ("visceral.tool.replay_safe", True),
            ("visceral.tool.freshness_override", 900.0),
            ("visceral.tool.input_hash", recorded_hash(call.tool, call.arguments)),
            ("visceral.tool.hash_v", 1),
        ]
        for section, text in (("input", call.arguments), ("output", call.result)):
            if section == "output" and call.failed:
                break
            at = self.rng.randrange(4000)
            length = (len(text) + 2) // 3 * 4
            attributes += [
                (f"visceral.{section}.ciphertext", self.noise[at : at + length]),
                (f"visceral.{section}.iv", self.noise[at : at + 16]),
                (f"visceral.{section}.tag", self.noise[at : at + 22] + "=="),
                (f"visceral.{section}.key_id", "k-1"),
            ]
        return attributes

    def _llm(self, history: list[Call], asked: list[Call]) -> Attributes:
        rng = self.rng
        prompt = rng.choice(self.prompts)
        usage = rng.randrange(200, 4000)
        if self.convention in ("openinference", "visceral"):
            return self._llm_openinference(prompt, usage, history, asked)
        messages = [
            {"role": "user", "parts": [{"type": "text", "content": prompt}]},
            *(
                {
                    "role": "tool",
                    "parts": [
                        {"type": "tool_call_response", "id": call.call_id, "response": call.result}
                    ],
                }
                for call in history[:1]
            ),
        ]
        parts: list[dict[str, object]] = [
            {
                "type": "tool_call",
                "id": call.call_id,
                "name": call.tool,
                "arguments": call.arguments,
            }
            for call in asked
        ] or [{"type": "text", "content": prompt[:300]}]
        return [
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.provider.name", "scripted"),
            ("gen_ai.request.model", "scripted-1"),
            ("gen_ai.response.model", "scripted-1"),
            ("gen_ai.usage.input_tokens", usage),
            ("gen_ai.usage.output_tokens", usage // 9),
            ("gen_ai.system_instructions", self.prompts[0]),
            ("gen_ai.input.messages", orjson.dumps(messages).decode()),
            (
                "gen_ai.output.messages",
                orjson.dumps([{"role": "assistant", "parts": parts}]).decode(),
            ),
        ]

    def _llm_openinference(
        self, prompt: str, usage: int, history: list[Call], asked: list[Call]
    ) -> Attributes:
        messages = "llm.input_messages"
        attributes: Attributes = [
            ("openinference.span.kind", "LLM"),
            ("llm.model_name", "scripted-1"),
            ("llm.provider", "scripted"),
            ("llm.invocation_parameters", '{"temperature": 0, "max_tokens": 2048}'),
            ("llm.token_count.prompt", usage),
            ("llm.token_count.completion", usage // 9),
            ("llm.token_count.total", usage + usage // 9),
            (f"{messages}.0.message.role", "system"),
            (f"{messages}.0.message.content", self.prompts[0]),
            (f"{messages}.1.message.role", "user"),
            (f"{messages}.1.message.content", prompt),
        ]
        if self.convention == "visceral":  # messages are redacted
            attributes = [item for item in attributes if not item[0].endswith(".content")]
            attributes.append(("visceral.input.ciphertext", self.noise[:1800]))
            return attributes
        for index, call in enumerate(history[:1], 2):
            attributes += [
                (f"{messages}.{index}.message.role", "tool"),
                (f"{messages}.{index}.message.tool_call_id", call.call_id),
                (f"{messages}.{index}.message.content", call.result),
            ]
        answer = "llm.output_messages.0.message"
        attributes.append((f"{answer}.role", "assistant"))
        for index, call in enumerate(asked):
            at = f"{answer}.tool_calls.{index}.tool_call"
            attributes += [
                (f"{at}.id", call.call_id),
                (f"{at}.function.name", call.tool),
                (f"{at}.function.arguments", call.arguments),
            ]
        if not asked:
            attributes.append((f"{answer}.content", prompt[:300]))
        return attributes


def make_services(seed: int, identities: str, *, tools_only: bool, spread: bool) -> list[Service]:
    """Return the agents, each with its share of the spans in ``service_order``."""
    conventions = ("genai", "openinference", "visceral", "traceloop") if spread else ("genai",)
    services = []
    for number, convention in enumerate(conventions):
        rng = random.Random(seed * 100 + number)
        calls = Calls(rng, identities, tools_only=tools_only)
        service = Service(number, convention, rng, calls, tools_only)
        service.prompts = [phrase(rng, rng.randrange(20, 100)) for _ in range(200)]
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        service.noise = "".join(rng.choices(alphabet, k=8000))
        services.append(service)
    return services


SERVICE_ORDER = (0, 1, 0, 2, 0, 1, 3, 0, 1, 2)
"""Of ten lines four are GenAI, three OpenInference, two Visceral, one Traceloop."""


def batches(services: list[Service]) -> Iterator[tuple[Service, list[MadeSpan]]]:
    """Yield what is exported together: ``SPANS_A_LINE`` spans of one service, for ever."""
    streams = [service.spans() for service in services]
    turn = 0
    while True:
        index = SERVICE_ORDER[turn % len(SERVICE_ORDER)] % len(services)
        turn += 1
        stream = streams[index]
        yield services[index], [next(stream) for _ in range(SPANS_A_LINE)]


def is_tool(span: MadeSpan) -> bool:
    return not span.name.startswith(("chat ", "invoke_agent "))
