"""The agents around the travel desk, each instrumented in another way."""

from __future__ import annotations

import json
import random

from story.recorder import DAY, HOUR, MINUTE, MONDAY, SECOND, Recorder
from story.span_formats import Batch, Span, Value, cut


def execute_tool(
    out: Recorder, tool: str, arguments: dict[str, Value], result: object, seconds: float
) -> Span:
    """Record a call under the OpenTelemetry GenAI names."""
    attributes: dict[str, Value] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": f"call_{out.rng.getrandbits(48):012x}",
        "gen_ai.tool.call.arguments": json.dumps(arguments),
        "gen_ai.tool.call.result": json.dumps(result),
    }
    return out.leaf(f"execute_tool {tool}", attributes, seconds)


def chat(out: Recorder, seconds: float) -> Span:
    """Record a call of the model, its messages not captured."""
    attributes: dict[str, Value] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "scripted-1",
        "gen_ai.usage.input_tokens": 900 + out.rng.randrange(400),
        "gen_ai.usage.output_tokens": 60 + out.rng.randrange(80),
    }
    return out.leaf("chat scripted-1", attributes, seconds)


def booking_agent() -> list[Batch]:
    """OpenTelemetry GenAI names: a volatile argument, failures and retries, writers."""
    out = Recorder(random.Random("booking agent"))
    for run in range(24):
        out.begin_trace(MONDAY + DAY + run * 20 * MINUTE)
        root = out.enter()
        reference, flight = f"BK{1000 + run % 6}", f"XA{200 + run % 4}"
        chat(out, 1.5)
        for _ in range(2):  # the same question, but for the request id
            arguments: dict[str, Value] = {"reference": reference}
            arguments["request_id"] = f"{out.rng.getrandbits(64):016x}"
            booking = {"reference": reference, "flight": flight, "status": "confirmed"}
            execute_tool(out, "find_booking", arguments, booking, out.seconds(0.3, 0.9))
        taken = run // 4
        execute_tool(out, "get_seat_map", {"flight": flight}, {"taken": taken}, 0.6)
        if run % 3 == 0:  # a failure, again, and then it works
            for attempt in range(3):
                paid = execute_tool(
                    out,
                    "payment_status",
                    {"reference": reference},
                    {"paid": True} if attempt == 2 else "Error: the bank did not answer",
                    out.seconds(1, 2),
                )
                paid.failed = attempt < 2
        chat(out, 1.2)
        if run % 4 == 1:
            for _ in range(2 if run == 5 else 1):  # once the seat was changed twice
                seat: dict[str, Value] = {"reference": reference, "seat": "14C"}
                execute_tool(out, "change_seat", seat, {"ok": True}, 0.8)
            taken += 1
        out.wait(5)
        execute_tool(out, "get_seat_map", {"flight": flight}, {"taken": taken}, 0.6)
        name: dict[str, Value] = {"gen_ai.operation.name": "invoke_agent"}
        name["gen_ai.agent.name"] = "booking_agent"
        out.leave(root, "invoke_agent booking_agent", name)
    return cut(out.spans, Batch("booking-agent", "python", "booking.agent"), 25)


def openinference(
    out: Recorder, kind: str, tool: str, arguments: object, result: object, seconds: float
) -> Span:
    """Record a call under the OpenInference names."""
    attributes: dict[str, Value] = {
        "openinference.span.kind": kind,
        "tool.name": tool,
        "input.value": json.dumps(arguments, ensure_ascii=False),
        "input.mime_type": "application/json",
        "output.value": json.dumps(result, ensure_ascii=False),
        "output.mime_type": "application/json",
        "session.id": f"guide-{out.trace_id[:6]}",
    }
    return out.leaf(tool, attributes, seconds)


def guide_agent() -> list[Batch]:
    """OpenInference: parallel equal calls, another order of the keys, two spellings of a name."""
    out = Recorder(random.Random("guide agent"))
    for run in range(10):
        out.begin_trace(MONDAY + 2 * DAY + run * 30 * MINUTE)
        root = out.enter()
        rate = {"rate": 163.2 + run // 5, "as_of": "2026-03-04"}
        began = out.now
        for _ in range(3):  # three at once
            out.now = began + out.rng.randrange(SECOND // 50)
            openinference(out, "TOOL", "currency_rate", {"base": "EUR", "quote": "JPY"}, rate, 0.8)
        out.wait(4)
        openinference(out, "TOOL", "currency_rate", {"quote": "JPY", "base": "EUR"}, rate, 0.7)
        city = "São Paulo" if run % 3 else "Sa\u0303o Paulo"
        guide = [{"page": f"guide-{page}", "score": 0.9 - page / 10} for page in range(2)]
        openinference(
            out, "RETRIEVER", "guide_search", {"query": f"{city} by rail", "top_k": 2}, guide, 0.4
        )
        out.leave(root, "guide_agent", {"openinference.span.kind": "AGENT"})
    scope = "openinference.instrumentation.langchain"
    return cut(out.spans, Batch("guide-agent", "python", scope), 100)


def web_chat() -> list[Batch]:
    """Vercel AI SDK: a tool that nobody has declared, asked again and again."""
    out = Recorder(random.Random("web chat"))
    for run in range(40):
        out.begin_trace(MONDAY + DAY + run * 9 * MINUTE)
        root = out.enter()
        for _ in range(1 + run % 3):
            arguments = {"office": ("Lisboa", "Kraków")[run % 2]}
            attributes: dict[str, Value] = {
                "operation.name": "ai.toolCall web-chat",
                "ai.operationId": "ai.toolCall",
                "ai.toolCall.name": "opening_hours",
                "ai.toolCall.id": f"call-{out.rng.getrandbits(40):010x}",
                "ai.toolCall.args": json.dumps(arguments, ensure_ascii=False),
                "ai.toolCall.result": json.dumps({"open": "09:00", "close": "17:30"}),
            }
            out.leaf("ai.toolCall", attributes, out.seconds(0.2, 0.7))
            out.wait(12)
        usage: dict[str, Value] = {
            "operation.name": "ai.generateText web-chat",
            "ai.operationId": "ai.generateText",
            "ai.usage.promptTokens": 420,
        }
        out.leave(root, "ai.generateText", usage)
    return cut(out.spans, Batch("web-chat", "nodejs", "ai"), 30)


def alert_worker() -> list[Batch]:
    """Traceloop envelopes: weather that changes, looked up every ten minutes."""
    out = Recorder(random.Random("alert worker"))
    for run in range(48):
        out.begin_trace(MONDAY + 3 * DAY + run * 10 * MINUTE)
        for city in ("Oslo", "Lisboa"):
            observed = {"city": city, "wind": 3 + run // 5 + len(city), "hour": 7 + run // 6}
            call = {"args": [], "kwargs": {"city": city}}
            attributes: dict[str, Value] = {
                "traceloop.span.kind": "tool",
                "traceloop.entity.name": "get_weather",
                "traceloop.workflow.name": "alerts",
                "traceloop.entity.input": json.dumps(call),
                "traceloop.entity.output": json.dumps(observed),
            }
            out.leaf("get_weather.tool", attributes, out.seconds(0.3, 1.1))
    return cut(out.spans, Batch("alert-worker", "python", "traceloop.tracer"), 12)


def notebook() -> list[Batch]:
    """A notebook that prints its spans: what was tried before the desk opened."""
    out = Recorder(random.Random("notebook"))
    for run in range(4):
        out.begin_trace(MONDAY - 2 * HOUR + run * 5 * MINUTE)
        root = out.enter()
        arguments: dict[str, Value] = {"month": "2026-02", "top": 3}
        for _ in range(2):
            execute_tool(out, "expense_report", arguments, {"total": 18230.5, "rows": 41}, 2.5)
        out.leave(root, "invoke_agent notebook", {"gen_ai.operation.name": "invoke_agent"})
    return cut(out.spans, Batch("notebook", "python", "notebook"), 100)
