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

# Left out on purpose: raising caps, creating and deleting assistants, giving them instructions,
# running their tools, tokens, files, and allowing tools of other servers. A person should see those
# done.
NAMES: Mapping[str, str] = {
    "list_assistants": "GET assistants/",
    "assistant_status": f"GET {ONE}status/",
    "health": "GET health/",
    "list_events": f"GET {ONE}events/",
    "why": f"GET {ONE}events/<ai_number:number>/",
    "trace": f"GET {ONE}trace/",
    "read_history": f"GET {ONE}history/",
    "audit_log": f"GET {ONE}audit/",
    "audit_state": f"GET {ONE}audit/state/",
    "audit_difference": f"GET {ONE}audit/difference/",
    "list_settings": f"GET {ONE}configuration/",
    "show_setting": f"GET {ONE}configuration/<str:setting>/",
    "change_settings": f"PATCH {ONE}configuration/",
    "unset_setting": f"DELETE {ONE}configuration/<str:setting>/",
    "list_edits": f"GET {ONE}edits/",
    "undo_edit": f"POST {ONE}undo/",
    "preview_prompt": f"GET {ONE}prompts/",
    "search_memory": f"GET {ONE}memory/search/",
    "list_lore": "GET lore/",
    "add_lore": "POST lore/",
    "change_lore": "PATCH lore/<ai_memory:memory>/",
    "remove_lore": "DELETE lore/<ai_memory:memory>/",
    "usage": f"GET {ONE}usage/",
    "player_budget": "GET people/<ai_person:person>/budget/",
    "list_peers": "GET peers/",
    "list_questions": "GET questions/",
    "answer_question": "POST questions/<ai_number:number>/answer/",
    "list_goals": f"GET {ONE}goals/",
    "add_goal": f"POST {ONE}goals/",
    "end_goal": f"PATCH {ONE}goals/<ai_number:number>/",
    "list_breakers": f"GET {ONE}breakers/",
    "reset_breaker": f"POST {ONE}breakers/<path:name>/reset/",
    "start_assistant": f"POST {ONE}start/",
    "silence_assistant": f"POST {ONE}stop/",
    "stop_now": f"POST {ONE}emergency/stop/",
    "clear_stop": f"POST {ONE}emergency/clear/",
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
