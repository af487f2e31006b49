"""Several steps in one turn: tools of all kinds, a crash in between, and questions."""

import json
import sys
from typing import Any

import pytest

from tests.fakes.handle import FakeModel
from tests.journeys import processes
from tests.journeys.clients import Enter, Player
from tests.journeys.game import ROOT, UNHURRIED, Game
from tests.journeys.lines import whisper_of
from tests.journeys.staging import quiet_log, run

__all__ = ("quiet_log",)
ALMANAC = str(ROOT / "tests/mcp/servers.py")


@pytest.fixture(scope="module")
def game_settings() -> dict[str, Any]:
    """MCP servers, a fallback model, and no rate limits."""
    return {
        "EVENNIA_AI_MCP_SERVERS": {
            "almanac": {"command": [sys.executable, ALMANAC, "almanac"]},
            "oracle": {
                "command": [sys.executable, ALMANAC, "almanac"],
                "tools": ["tide"],
                "needs_confirmation": True,
            },
        },
        "EVENNIA_AI_FALLBACK_MODELS": ["scripted"],
        **UNHURRIED,
    }


@pytest.fixture(autouse=True, scope="module")
def connected(game: Game) -> None:
    """Both MCP servers are connected, which the game itself does not wait for."""
    with processes.follow(game.folder / "server/logs/server.log") as log:
        for name in ("almanac", "oracle"):
            log.wait_for(f"mcp server {name}: connected", 60)


@pytest.fixture(autouse=True)
def rested(admin: Player) -> None:
    """The failures of one test do not open a breaker in the next."""
    run(admin, "from evennia_ai.runtime import services\nservices.pool().breakers.reset_all()")


def use(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


def does(*calls: dict[str, Any]) -> dict[str, Any]:
    """An answer of the scripted model that makes these calls."""
    return {"kind": "answer", "calls": list(calls)}


def whispers(words: str) -> dict[str, Any]:
    return use("whisper", target="Tom", message=words)


def results(model: FakeModel, number: int = -1) -> list[dict[str, Any]]:
    messages = model.read_calls()[number]["body"]["messages"]
    return [json.loads(m["content"]) for m in messages if m["role"] == "tool"]


@pytest.mark.usefixtures("quiet_log")
def test_a_tool_of_an_mcp_server(enter: Enter, admin: Player, model: FakeModel) -> None:
    """Its tools are offered and shown in the status; private words are kept from it."""
    tom = enter("Tom")
    model.queue(
        does(use("almanac__tide", harbour="Greyport", day=2)),
        does(whispers("At noon, Tom.")),
    )
    tom.ask("say @ada when is the tide?", r'Ada whispers: "At noon, Tom\."')
    offered = [tool["function"]["name"] for tool in model.read_calls()[0]["body"]["tools"]]
    assert "almanac__tide" in offered
    assert "Greyport, day 2: at noon" == results(model)[-1]["result"]
    admin.ask("assistant status ada", r"mcp +almanac: \w+, \d+ tools")
    model.queue(
        does(use("almanac__tide", harbour="Greyport", day=2)),
        does(whispers("Ask me aloud, Tom.")),
    )
    tom.ask("whisper ada = and the tide?", r'Ada whispers: "Ask me aloud, Tom\."')
    refused = results(model)[-1]
    assert refused["success"] is False
    assert (
        "you were told something in private, and anybody might come to know it" in refused["error"]
    )


def test_a_tool_of_an_mcp_server_after_a_yes(enter: Enter, admin: Player, model: FakeModel) -> None:
    """The question names the server, the tool, its arguments, and the effect of a yes."""
    tom = enter("Tom")
    model.queue(does(use("oracle__tide", harbour="|rGreyport", day=2)), does(whispers("May I?")))
    pattern = (
        r"may I do this: use tide of oracle, a server outside the game, with "
        r'\{"harbour": "\|rGreyport", "day": 2\}\? \(yes: it is done at once, this once; no, or no '
        r"answer for 5 minutes: it is not done\) Type: assistant answer (\d+) yes"
    )
    number = tom.ask("say @ada ask the oracle for the tide", pattern)[1]
    admin.ask("assistant tools ada", r"oracle__tide +after yes")
    admin.send("q")
    model.queue(does(whispers("At noon, Tom.")))
    tom.ask(f"assistant answer {number} yes", r"\|rGreyport, day 2: at noon")
    tom.expect(r'Ada whispers: "At noon, Tom\."')


def test_killed_between_two_steps(game: Game, enter: Enter, model: FakeModel) -> None:
    """After the kill she goes on, and says nothing twice."""
    tom = enter("Tom")
    model.queue(does(whispers("Let me see."), use("look")), {"kind": "hang"})
    tom.ask("whisper ada = what is here?", r'Ada whispers: "Let me see\."')
    model.wait_for_calls(2)
    game.kill_server()
    model.reset()
    model.queue(does(whispers("Books, mostly.")))
    game.start()
    tom.come_back()
    tom.ask("whisper ada = thank you", whisper_of("thank you"))
    assert "whispered to Tom" == results(model, 0)[-2]["result"]
    for words in ("Let me see.", "Books, mostly."):
        assert 1 == tom.count(f'Ada whispers: "{words}"')


def test_a_goal_is_worked_on_unasked(enter: Enter, admin: Player, model: FakeModel) -> None:
    tom = enter("Tom")
    run(admin, "ada.db.autonomy_config = {'seconds': 1, 'acts_per_hour': 3}\nada.db.tick_rate = 1")
    model.queue(
        does(use("say", message="Has anybody seen the atlas?")),
        does(use("complete_goal", number=1, outcome="it lies here")),
        does(use("noop")),
    )
    admin.ask("assistant goal ada = find the atlas", "Ada has goal 1")
    tom.expect(r'Ada says, "Has anybody seen the atlas\?"', 30)
    model.wait_for_calls(3)
    run(admin, "ada.attributes.remove('autonomy_config')\nada.attributes.remove('tick_rate')")
    admin.ask("assistant goal ada", r"1\. completed: find the atlas: it lies here")
