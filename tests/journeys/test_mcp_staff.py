"""An owner's coding assistant inspects and operates a running game over MCP."""

import json

import pytest
from mcp import Client

import evennia_ai
from tests.fakes.handle import FakeModel
from tests.journeys.clients import Enter, Player
from tests.journeys.game import ADMIN_NAME
from tests.journeys.mcp_client import (
    MODES,
    Staff,
    game_settings,
    port,
    reader,
    sentence,
    writer,
)

__all__ = ("game_settings", "port", "reader", "writer")


@pytest.mark.parametrize("mode", MODES)
def test_an_assistant_finds_out_why_another_answered(
    enter: Enter, reader: Staff, model: FakeModel, mode: str
) -> None:
    enter("Tom").ask("whisper ada = where is the atlas?", "I heard: where is the atlas")
    tools = reader.tools(mode)
    assert all(tool.annotations.read_only_hint for tool in tools.values())
    assert {"list_assistants", "why", "trace", "audit_log", "preview_prompt"} <= set(tools)
    assert ["Ada", "Brass"] == [row["key"] for row in reader.told("list_assistants")["assistants"]]
    heard = reader.call("list_events", mode, assistant="ada", limit=1)
    (record,) = heard.structured_content["records"]
    assert ("Tom", "(19 characters)") == (record["sender"], record["text"])
    why = reader.call("why", mode, assistant="ada", number=record["number"])
    assert "answered" in sentence(why)
    assert "atlas" not in json.dumps(why.structured_content)
    assert "ok" == reader.told("health")["status"]


@pytest.mark.parametrize("mode", MODES)
def test_the_server_says_its_version(reader: Staff, mode: str) -> None:
    async def version(client: Client) -> str:
        return str(client.server_info.version)

    assert evennia_ai.__version__ == reader.do(version, mode)


def test_what_is_changed_is_recorded_with_who_and_how(writer: Staff, reader: Staff) -> None:
    changed = writer.call("change_settings", assistant="Ada", changes={"tick_rate": 9})
    assert "tick_rate" in sentence(changed)
    assert 9 == reader.told("show_setting", assistant="Ada", setting="tick_rate")["value"]
    entry = reader.told("audit_log", assistant="Ada", limit=1)["entries"][0]
    assert "ConfigurationChanged" == entry["event"]
    assert (ADMIN_NAME, "mcp") == (entry["details"]["by"], entry["details"]["via"])
    writer.told("undo_edit", assistant="Ada")
    assert 9 != reader.told("show_setting", assistant="Ada", setting="tick_rate")["value"]


def test_a_token_that_nobody_said_more_of_only_reads(reader: Staff, writer: Staff) -> None:
    """A token of the usual scope is offered no tool that changes anything, and may call none."""
    offered, every = reader.tools(), writer.tools()
    changing = {name for name, tool in every.items() if not tool.annotations.read_only_hint}
    assert set(every) - changing == set(offered)
    assert {"stop_now", "change_settings", "answer_question", "add_lore"} <= changing
    assert "read-only" in reader.fault("stop_now", assistant="Ada")
    assert "stopped" != reader.told("assistant_status", assistant="Ada")["state"]


def test_a_stop_and_its_end(writer: Staff) -> None:
    assert "Ada" in sentence(writer.call("stop_now", assistant="ada", reason="a test"))
    assert "stopped" == writer.told("assistant_status", assistant="Ada")["mood"]
    assert 1 == writer.told("clear_all_stops")["changed"]
    assert 2 == writer.told("stop_all_now")["stopped"]
    assert "stopped" == writer.told("health")["status"]
    assert 2 == writer.told("clear_all_stops")["changed"]


def test_words_of_others_are_shown_only_to_whom_may_reveal(
    enter: Enter, admin: Player, reader: Staff, writer: Staff, model: FakeModel
) -> None:
    """`reveal` needs a token that may write, and its use is recorded."""
    enter("Tom").ask("whisper ada = the vault is open", "I heard: the vault is open")
    assert "vault" not in json.dumps(reader.told("read_history", assistant="Ada"))
    assert "read-only" in reader.fault("read_history", assistant="Ada", reveal=True)
    assert "vault" in json.dumps(writer.told("read_history", assistant="Ada", reveal=True))
    entry = reader.told("audit_log", assistant="Ada", event=["words_revealed"])["entries"][0]
    assert (ADMIN_NAME, "mcp") == (entry["details"]["by"], entry["details"]["via"])
    assert "vault" not in json.dumps(entry)
