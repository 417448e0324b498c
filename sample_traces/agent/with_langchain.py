"""LangChain and LangGraph: a tool of a graph that is served like a decorated one. Offline.

pip install visceral-cli[langchain] && python sample_traces/agent/with_langchain.py
"""

from __future__ import annotations

import sys
from typing import Any

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from one_rule import serving, told

from visceral_cli.runtime.adapters.langchain import reuse

ARGUMENTS = {"branch": "park"}
RUNS: list[str] = []


@tool
def opening_hours(branch: str) -> dict[str, str]:
    """Tell when a branch of the library is open."""
    RUNS.append(branch)
    return {"open": "09:00", "close": "18:00"}


def model(state: dict[str, Any]) -> dict[str, Any]:
    """Stand in for a model: ask for the same three times, then answer."""
    asked = sum(isinstance(message, ToolMessage) for message in state["messages"])
    if asked == 3:
        return {"messages": [AIMessage("The park branch closes at 18:00.")]}
    call = {"name": "opening_hours", "args": ARGUMENTS, "id": f"call-{asked}"}
    return {"messages": [AIMessage("", tool_calls=[call])]}


def main() -> None:
    """Run the graph, and say how often the tool ran."""
    reused = reuse(opening_hours, readonly=True, replay_safe=True)
    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode([reused]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    with serving("opening_hours", ARGUMENTS):
        messages = graph.compile().invoke({"messages": [("user", "When does park close?")]})
        seen = [message.content for message in messages["messages"] if message.type == "tool"]
        sys.stdout.write(f"asked {len(seen)} times, ran {len(RUNS)}: {told()}\n")
        sys.stdout.write(f"the model saw: {', '.join(sorted(set(seen)))}\n")


if __name__ == "__main__":
    main()
