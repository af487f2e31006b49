"""The table of tools: rows of the REST API, each under a name that tells a model what it does.

Only rows that an owner's assistant needs are listed: a model chooses better from few tools. A row's
summary and details are the tool's description; operation, right, input and result are the row's,
so that nothing is defined twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from pydantic import TypeAdapter

from evennia_ai.api.fields import StrictMapping
from evennia_ai.api.mcp import inputs
from evennia_ai.api.results import SENTENCES
from evennia_ai.api.rows import ONE, Row
from evennia_ai.api.schema import TABLE

_A = ONE
# Left out on purpose: raising caps, creating and deleting assistants, giving them instructions,
# running their tools, tokens, files, and allowing tools of other servers. A person should see those
# done.
NAMES: Mapping[str, str] = {
    "list_assistants": "GET assistants/",
    "assistant_status": f"GET {_A}status/",
    "health": "GET health/",
    "list_events": f"GET {_A}events/",
    "why": f"GET {_A}events/<ai_number:number>/",
    "trace": f"GET {_A}trace/",
    "read_history": f"GET {_A}history/",
    "audit_log": f"GET {_A}audit/",
    "audit_state": f"GET {_A}audit/state/",
    "audit_difference": f"GET {_A}audit/difference/",
    "list_settings": f"GET {_A}configuration/",
    "show_setting": f"GET {_A}configuration/<str:setting>/",
    "change_settings": f"PATCH {_A}configuration/",
    "unset_setting": f"DELETE {_A}configuration/<str:setting>/",
    "list_edits": f"GET {_A}edits/",
    "undo_edit": f"POST {_A}undo/",
    "preview_prompt": f"GET {_A}prompts/",
    "search_memory": f"GET {_A}memory/search/",
    "list_lore": "GET lore/",
    "add_lore": "POST lore/",
    "change_lore": "PATCH lore/<ai_memory:memory>/",
    "remove_lore": "DELETE lore/<ai_memory:memory>/",
    "usage": f"GET {_A}usage/",
    "player_budget": "GET people/<ai_person:person>/budget/",
    "list_peers": "GET peers/",
    "list_questions": "GET questions/",
    "answer_question": "POST questions/<ai_number:number>/answer/",
    "list_goals": f"GET {_A}goals/",
    "add_goal": f"POST {_A}goals/",
    "end_goal": f"PATCH {_A}goals/<ai_number:number>/",
    "list_breakers": f"GET {_A}breakers/",
    "reset_breaker": f"POST {_A}breakers/<path:name>/reset/",
    "start_assistant": f"POST {_A}start/",
    "silence_assistant": f"POST {_A}stop/",
    "stop_now": f"POST {_A}emergency/stop/",
    "clear_stop": f"POST {_A}emergency/clear/",
    "stop_all_now": "POST emergency/stop/",
    "clear_all_stops": "POST emergency/clear/",
}


@dataclass(frozen=True)
class McpTool:
    """A tool.

    Attributes:
        name: the name by which it is called.
        row: the endpoint that it calls.
    """

    name: str
    row: Row

    @property
    def reads(self) -> bool:
        """True if it changes nothing."""
        return self.row.reads

    @property
    def description(self) -> str:
        """The row's summary and details, on one line."""
        return f"{self.row.summary}. {' '.join(self.row.details.split())}"

    @cached_property
    def input(self) -> type[StrictMapping]:
        """The serializer of its arguments."""
        return inputs.input_of(self.row)

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        return inputs.schema_of(self.input)

    @cached_property
    def output_schema(self) -> dict[str, Any]:
        """The JSON schema of its structured result."""
        row = self.row
        schema: dict[str, Any] = {"type": "object", "properties": {}}
        if row.result is not None:
            schema = TypeAdapter(row.result).json_schema(mode="serialization")
        if row.says:
            _, whole, text = SENTENCES[row.says]
            schema["properties"][row.says] = {"type": "string", "description": f"{whole} {text}"}
            schema["required"] = [*schema.get("required", ()), row.says]
        return schema


@lru_cache(maxsize=1)
def tools() -> Mapping[str, McpTool]:
    """All tools by name, in the order of the table."""
    rows = {f"{row.route.method} {row.route.path}": row for row in TABLE}
    return {name: McpTool(name, rows[address]) for name, address in NAMES.items()}
