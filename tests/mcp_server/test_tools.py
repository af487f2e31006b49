"""Tools of the MCP server: their table, their schemas, and who may use them.

The rights go to docs/rights_mcp.md; EVENNIA_AI_WRITE_TABLES=1 writes it anew.
"""

import json
import os
import re
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.test.utils import override_settings
from evennia.utils import logger
from jsonschema import Draft202012Validator
from rest_framework.exceptions import APIException
from twisted.internet.defer import Deferred

from evennia_ai import audit, operations
from evennia_ai.api.limits import METHODS_THAT_READ
from evennia_ai.api.mcp import calls, service
from evennia_ai.api.mcp.inputs import split_arguments
from evennia_ai.api.mcp.tools import McpTool, tools
from evennia_ai.models import TokenScope
from evennia_ai.operations.rights import token_store
from tests.api.stock import TOLD
from tests.api.support import ApiTest
from tests.game.support import pump, says

TABLE = Path(__file__).resolve().parents[2] / "docs" / "rights_mcp.md"
STAFF = ("superuser", "admin", "builder with control", "builder")
ADA = {"assistant": "Ada"}
LORE = {"lore": TOLD}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "list_assistants": {},
    "health": {},
    "list_peers": {},
    "player_budget": {"person": "account-1"},
    "why": {**ADA, "number": 1},
    "audit_difference": {**ADA, "a": 1, "b": 1},
    "show_setting": {**ADA, "setting": "tick_rate"},
    "change_settings": {**ADA, "changes": {"tick_rate": 9}},
    "unset_setting": {**ADA, "setting": "tick_rate"},
    "search_memory": {**ADA, "q": "atlas"},
    "list_lore": {},
    "add_lore": {"text": "The lighthouse is old.", "keywords": ["lighthouse"]},
    "change_lore": {**LORE, "keywords": ["beacon"]},
    "remove_lore": LORE,
    "list_questions": {},
    "answer_question": {"number": 999, "answer": "yes"},
    "add_goal": {**ADA, "text": "Find the lost atlas."},
    "end_goal": {**ADA, "number": 1, "status": "completed"},
    "reset_breaker": {**ADA, "breaker": "llm:scripted"},
    "stop_all_now": {},
    "clear_all_stops": {},
}
REFUSED = "You may not"
HEAD = """\
# Rights over MCP

`tests/mcp_server/test_tools.py` makes this page: it calls every tool as each person, and compares
the answers with those of the REST API.

Only staff with a token get in. A tool that changes something or reveals private words also needs a
token made with `write`: `assistant token new <what for> = write`. Somebody who "has control" passes
the assistant's lock `ai_control`; here it lets admins pass, and one builder.

"""


class McpTest(ApiTest):
    """Calls in the game's thread, as the server makes them."""

    def setUp(self) -> None:
        super().setUp()
        operations.add_goal(self.ada_script, "Count the books.")
        self.ask("whisper Ada = hello", says("Hello."), person=self.mira)
        self.stock(self.ada_script)

    def caller(self, who: str, scope: TokenScope = TokenScope.WRITE) -> calls.McpCaller:
        """A person who came in with a new token of this scope."""
        key, _ = token_store.make(self.people[who], "", scope=scope)
        return calls.admit(f"Bearer {key}", "127.0.0.1")

    def answer(self, caller: calls.McpCaller, name: str, arguments: Any = None) -> calls.CallAnswer:
        given = ARGUMENTS.get(name, ADA) if arguments is None else arguments
        result = calls.call(caller, tools()[name], given)
        if not isinstance(result, Deferred):
            return result
        got: list[calls.CallAnswer] = []
        result.addCallback(got.append)
        pump()
        return got[0]

    def rest_refuses(self, tool: McpTool, who: str) -> bool:
        """True where the REST API refuses the same call for want of a right."""
        given, row = ARGUMENTS.get(tool.name, ADA), tool.row
        parts = split_arguments(row, given)
        path = re.sub(r"<(?:\w+:)?(\w+)>", lambda match: str(parts.path[match[1]]), row.route.path)
        if parts.query:
            path += "?" + "&".join(f"{name}={value}" for name, value in parts.query.items())
        body = None if row.route.method in METHODS_THAT_READ else parts.body
        return bool(self.call(row.route.method, path, body, who=who).status_code == 403)


class TestTable(McpTest):
    def test_each_tool_is_small_and_says_what_it_takes(self) -> None:
        """A model has to choose among the tools, so they are few and each is short."""
        whole = 0
        for tool in tools().values():
            for schema in (tool.input_schema, tool.output_schema):
                Draft202012Validator.check_schema(schema)
                assert "object" == schema["type"]
            assert re.fullmatch(r"[a-z_]{3,30}", tool.name)
            assert 20 < len(tool.description) < 400
            assert all("description" in part for part in tool.input_schema["properties"].values())
            whole += len(json.dumps([tool.name, tool.description, tool.input_schema]))
        assert len(tools()) <= 40
        assert whole < 20_000

    def test_no_tool_allows_tools_or_makes_tokens(self) -> None:
        """A program must not change what guards the game against programs."""
        addresses = " ".join(tool.row.route.path for tool in tools().values())
        assert not re.search("token|tools/|delete|release|export|card", addresses)

    def test_arguments_are_as_the_schema_says(self) -> None:
        for tool in tools().values():
            judge = Draft202012Validator(tool.input_schema)
            given = ARGUMENTS.get(tool.name, ADA)
            assert judge.is_valid(given), tool.name
            assert not judge.is_valid({**given, "nonsense": 1}), tool.name
            if tool.input_schema["required"]:
                assert not judge.is_valid({}), tool.name


class TestPlayers(McpTest):
    def test_a_player_may_be_named(self) -> None:
        """A model knows players by their names; a name was an internal error."""
        caller, account = self.caller("builder"), self.mira.account
        for person in (f"account-{account.pk}", f"*#{account.pk}", str(account.key)):
            answer = self.answer(caller, "player_budget", {"person": person})
            assert answer.value is not None, answer.text
            assert str(account.key) == answer.value["name"]
        answer = self.answer(caller, "player_budget", {"person": "Nobody"})
        assert ("There is no player called 'Nobody'.", None) == (answer.text, answer.value)


class TestRights(McpTest):
    @override_settings(EVENNIA_AI_API_CONFIG={"writes_per_minute": 0, "reads_per_minute": 0})
    def test_the_rights_are_those_of_rest(self) -> None:
        callers = {who: self.caller(who) for who in STAFF}
        rows = []
        for tool in sorted(tools().values(), key=lambda tool: not tool.reads):
            cells = []
            for who in reversed(STAFF):
                answer = self.answer(callers[who], tool.name)
                refused = answer.value is None and answer.text.startswith(REFUSED)
                assert refused == self.rest_refuses(tool, who), (tool.name, who, answer.text)
                if answer.value is not None:
                    Draft202012Validator(tool.output_schema).validate(answer.value)
                cells.insert(0, "refused" if refused else "done")
            kind = "reads" if tool.reads else "changes"
            rows.append(f"| `{tool.name}` | {kind} | {' | '.join(cells)} |")
        head = f"| | | {' | '.join(STAFF)} |\n|---|---|{'---|' * len(STAFF)}\n"
        table = f"{HEAD}{head}" + "\n".join(rows) + "\n"
        if os.environ.get("EVENNIA_AI_WRITE_TABLES"):
            TABLE.write_text(table, "utf-8")
        assert TABLE.read_text("utf-8") == table

    def test_a_token_that_was_not_made_to_write_changes_nothing(self) -> None:
        for scope in (TokenScope.READ, TokenScope.USUAL):
            caller = self.caller("superuser", scope)
            version = audit.application().version(self.ada_script)
            for tool in tools().values():
                if not tool.reads:
                    assert "read-only" in self.answer(caller, tool.name).text
            audit.flush()
            assert version == audit.application().version(self.ada_script)
            assert all(tool.reads for tool in calls.list_tools(caller))

    def test_what_is_offered_is_what_may_be_used(self) -> None:
        """A builder is offered what may be allowed for some assistant, but no tool of the owner."""
        owner = {tool.name for tool in calls.list_tools(self.caller("superuser"))}
        builder = {tool.name for tool in calls.list_tools(self.caller("builder"))}
        assert set(tools()) == owner
        assert {"add_lore", "change_lore", "remove_lore"} == owner - builder

    def test_only_staff_come_in(self) -> None:
        for who in ("player", "guest"):
            with pytest.raises(APIException):
                self.caller(who)
        for header in ("", "Bearer", "Bearer nonsense", "Token x", "bearer \0"):
            with pytest.raises(APIException):
                calls.admit(header, "127.0.0.1")

    def test_tokens_are_not_guessed_at_leisure(self) -> None:
        """Once an address has used up its tries, a good token is refused as well."""
        key, _ = token_store.make(self.people["admin"], "")
        with override_settings(EVENNIA_AI_API_CONFIG={"anonymous_per_minute": 3}):
            codes = []
            for sent in ("a", "b", "c", "d", key):
                try:
                    calls.admit(f"Bearer {sent}", "192.0.2.7")
                except APIException as error:
                    codes.append(error.status_code)
            assert [401, 401, 401, 429, 429] == codes
            assert calls.admit(f"Bearer {key}", "192.0.2.8")

    def test_rates_are_those_of_rest(self) -> None:
        """One count serves both: a call over MCP leaves one fewer over REST, and the reverse."""
        with override_settings(EVENNIA_AI_API_CONFIG={"writes_per_minute": 2}):
            caller = self.caller("superuser")
            self.answer(caller, "stop_all_now")
            assert 200 == self.call("POST", "emergency/clear/").status_code
            assert "throttled" in self.answer(caller, "stop_all_now").text


class TestPrivateWords(McpTest):
    def test_they_are_revealed_only_with_the_right_and_the_token(self) -> None:
        """Private words take control and a token made to write; each reading is recorded."""
        asked = {**ADA, "reveal": True}
        revealing = [each for each in tools().values() if "reveal" in each.input().fields]
        for tool in revealing:
            given = {**ARGUMENTS.get(tool.name, ADA), **asked}
            refused = self.answer(self.caller("builder"), tool.name, given)
            assert refused.text.startswith(REFUSED), tool.name
            answer = self.answer(self.caller("superuser", TokenScope.USUAL), tool.name, given)
            assert "reveal" in answer.text, tool.name
        masked = self.answer(self.caller("superuser"), "read_history")
        assert "hello" not in json.dumps(masked.value) + masked.text
        shown = self.answer(self.caller("builder with control"), "read_history", asked)
        assert "hello" in json.dumps(shown.value)
        audit.flush()
        (entry,) = audit.application().page(self.ada_script, events=("words_revealed",))
        assert ("Berit", "mcp") == (entry.details["by"], entry.details["via"])


class TestService(McpTest):
    def test_nothing_is_started_where_no_port_is_named(self) -> None:
        """A wrong setting is logged and starts nothing either; the game starts all the same."""
        with mock.patch.object(service.reactor, "callWhenRunning") as begin:
            service.start_plugin_services(mock.Mock())
            with (
                override_settings(EVENNIA_AI_MCP_SERVER_CONFIG={"port": -1}),
                mock.patch.object(logger, "log_err") as log,
            ):
                service.start_plugin_services(mock.Mock())
            assert "EVENNIA_AI_MCP_SERVER_CONFIG.port" in log.call_args[0][0]
            assert not begin.called
            with override_settings(EVENNIA_AI_MCP_SERVER_CONFIG={"port": 4010}):
                service.start_plugin_services(mock.Mock())
            assert begin.called
