"""Rules as a cache of results for CrewAI, whose own has no time to live and keeps all tools."""

from __future__ import annotations

from visceral_cli.rules.exports import covered_calls
from visceral_cli.rules.exports.cached_tool import Selection
from visceral_cli.rules.exports.header import common_limits, header

_USE = (
    "results = ProvenResults()",
    "agent = Agent(..., cache_handler=results)",
    "crew = Crew(agents=[agent], cache=False, ...)   # with True its own cache takes the place",
)
_KEY = (
    "It sees arguments as the model gives them: a call that leaves a default out is another call "
    "than the rules are about, and runs."
)

_CODE = '''
# An input hash tells the tool too, of which CrewAI has two spellings.
KEPT = "visceral"

class ProvenResults(CacheHandler):
    """Keeps the results that a rule covers, as long as it allows; all other calls run."""

    _until: dict[str, float] = PrivateAttr(default_factory=dict)

    def read(self, tool, input):
        """Return the kept result of a call; None: it must run."""
        found, _ = _covered(tool, input)
        if found is None or monotonic() >= self._until.get(found, 0.0):
            return None
        return super().read(KEPT, found)

    def add(self, tool, input, output):
        """Keep the result of a call, if a rule covers it."""
        found, kept = _covered(tool, input)
        if found is None:
            return
        now = monotonic()
        self._until.pop(found, None)
        super().add(KEPT, found, output)
        if super().read(KEPT, found) is output:  # a declared failure is not kept
            self._until[found] = now + kept


def _covered(tool, text):
    """Return the input hash of a call and how long its result may be kept."""
    try:
        arguments = json.loads(text) if text else {}
    except ValueError:
        return None, 0
    for name in RULES:
        if name == tool or sanitize_tool_name(name) == sanitize_tool_name(tool):
            # The second is how the Visceral SDK writes down a call of CrewAI.
            for asked in (arguments, {"args": [], "kwargs": arguments}):
                kept = seconds(name, asked) if isinstance(arguments, dict) else None
                if kept is not None:
                    return identity(name, asked), kept
    return None, 0
'''


def crewai_text(selection: Selection) -> str:
    """Return a module whose ``ProvenResults`` is the cache to give to an agent."""
    return "".join(
        [
            header("A cache of tool results for CrewAI", _USE, selection, common_limits(_KEY)),
            "\nimport hashlib\nimport json\nfrom time import monotonic\n",
            "\nfrom crewai.agents.cache.cache_handler import CacheHandler\n",
            "from crewai.utilities.string_utils import sanitize_tool_name\n",
            "from pydantic import PrivateAttr\n\n",
            covered_calls.rules_table(selection.tools),
            "\n",
            covered_calls.FUNCTIONS,
            _CODE,
        ]
    )
