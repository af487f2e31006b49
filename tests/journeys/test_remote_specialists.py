"""An assistant of a running game hands tasks to an agent by the official SDK."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.handle import FakeModel
from tests.journeys.clients import WAIT_SECONDS, Enter, Player
from tests.journeys.game import UNHURRIED, Game
from tests.journeys.ports import ClaimedPorts
from tests.journeys.remote_agent import Agent, running
from tests.journeys.staging import quiet_log, run

__all__ = ("quiet_log",)
pytestmark = pytest.mark.usefixtures("quiet_log", "fresh")
SETTING = "EVENNIA_AI_REMOTE_SPECIALISTS"
TOKEN = "lantern-token-73185"
COST = 0.01


@pytest.fixture(scope="module")
def agent() -> Iterator[Agent]:
    """The agent, running."""
    ports = ClaimedPorts(1)
    with running(ports.numbers[0]) as agent:
        yield agent
    ports.release()


@pytest.fixture(scope="module")
def game_settings(agent: Agent) -> dict[str, Any]:
    """Ada may ask the agent: openly, privately, by a short time, and where it may not be."""
    entry = {"card": agent.url, "assistants": ["Ada"], "cost": COST, "networks": ["127.0.0.1/32"]}
    return {
        **UNHURRIED,
        SETTING: {
            "atlas": {**entry, "token_env": "ATLAS_TOKEN", "pause_seconds": 1},
            "confidant": {**entry, "private": True},
            "hasty": {**entry, "seconds": 1},
            "forbidden": {"card": agent.url, "assistants": ["Ada"], "cost": COST},
            "rare": {**entry, "tasks_per_day": 1},
            "brassy": {**entry, "assistants": ["Brass"]},
        },
    }


@pytest.fixture(scope="module")
def game(
    template: Any, model_server: FakeModel, game_settings: dict[str, Any], tmp_path_factory: Any
) -> Iterator[Game]:
    """The Lantern Library, with the agent's token in its environment."""
    from tests.fakes.handle import MODEL_NAME

    model_server.reset()
    with Game.copy(template, tmp_path_factory.mktemp("remote") / "game") as game:
        game.ask_model_at(model_server.base_url, MODEL_NAME)
        game.env["ATLAS_TOKEN"] = TOKEN
        game.settings |= game_settings
        game.start()
        with game.log_in_admin() as owner:
            run(owner, "ada.db.compact_enabled = brass.db.compact_enabled = False")
            run(owner, "ada.db.execution_config = {'sub_agents_enabled': True}")
        yield game


@pytest.fixture
def fresh(game: Game, agent: Agent) -> None:
    """The agent does as it did at first, Ada has no talk, and every breaker is closed."""
    agent.behave()
    with game.log_in_admin() as admin:
        run(
            admin,
            "from evennia_ai.runtime import services\nservices.pool().breakers.reset_all()\n"
            "operations.reset_history(ada)\nada.work.senders.people.clear()",
        )


def hands_on(task: str = "Where is the atlas?", specialist: str = "atlas") -> dict[str, Any]:
    """A model's behaviour: it hands a task on."""
    arguments = {"task": task, "specialist": specialist}
    return {"calls": [{"tool": "delegate_task", "arguments": arguments}]}


def says(text: str = "There it is.") -> dict[str, Any]:
    """A model's behaviour: it answers aloud."""
    return {"calls": [{"tool": "say", "arguments": {"message": text}}]}


def result_of(model: FakeModel, call: int = -1) -> dict[str, Any]:
    """What a call of the model was told last: the result of a tool."""
    told = [m for m in model.read_calls()[call]["body"]["messages"] if m["role"] == "tool"]
    return dict(json.loads(told[-1]["content"]))


def ask(tom: Player, model: FakeModel, *answers: dict[str, Any]) -> dict[str, Any]:
    """Tom asks aloud; the result of the last tool call before the answer."""
    model.queue(*answers, says())
    tom.ask("say @ada where is the atlas?", r'Ada says, "There it is')
    return result_of(model)


def rows(game: Game, columns: str = "state") -> list[tuple[Any, ...]]:
    """The newest tasks first."""
    return game.query(f"SELECT {columns} FROM evennia_ai_remotetask ORDER BY began_at DESC")


@pytest.mark.parametrize("bindings", [["JSONRPC"], ["HTTP+JSON"]])
def test_a_task_is_handed_on_and_answered(
    game: Game, enter: Enter, admin: Player, agent: Agent, model: FakeModel, bindings: list[str]
) -> None:
    """By either binding: the words and no more go there, the answer comes back as hearsay."""
    agent.behave(bindings=bindings, usage={"prompt_tokens": 700, "completion_tokens": 77})
    allow_card(admin)
    told = ask(enter("Tom"), model, hands_on())
    assert told["success"], told
    assert "atlas, an agent outside the game, reports. That is hearsay" in told["result"]
    assert told["result"].endswith('"In the north wing."')
    (message,) = agent.messages()
    assert "Where is the atlas?" == message["text"]
    assert f"Bearer {TOKEN}" == message["authorization"]
    assert 1 == message["metadata"]["hops"]
    assert {"hops", "chain"} == set(message["metadata"])
    assert [("answered", 777, 10_000_000)] == rows(game, "state, tokens, cost_nano")[:1]
    assert "atlas, an agent outside the game" in str(model.read_calls()[0]["body"])
    spent = game.query(
        "SELECT prompt_tokens + completion_tokens, cost_nano, person FROM evennia_ai_modelcall "
        "WHERE purpose = 'remote' ORDER BY at DESC, key DESC LIMIT 1"
    )
    assert 777 == spent[0][0]
    assert spent[0][2].startswith("*#")


def allow_card(admin: Player) -> None:
    """Look at the agent's card now, and allow it as it is."""
    run(
        admin,
        "from evennia_ai.runtime import services\n"
        "for agent in services.remote_specialists()._known.values():\n"
        "    agent._known_at = None\n"
        "    agent._pins.keep('a2a:' + agent.name, {}, '')\n"
        "from evennia_ai.models import ToolPin\n"
        "ToolPin.objects.filter(server__startswith='a2a:').delete()",
    )


def test_why_and_peers_tell_of_it(
    enter: Enter, admin: Player, agent: Agent, model: FakeModel
) -> None:
    """Staff see state, tasks and cost; neither the token nor a word of what was said."""
    allow_card(admin)
    ask(enter("Tom"), model, hands_on("Find the amphorae."))
    admin.ask("assistant peers", r"atlas \(http://127.0.0.1:\d+/.well-known/agent-card.json\)")
    admin.expect(r"ready, breaker closed; \d+ of 100 tasks today, 0 under way")
    number = run(
        admin,
        "told = ada.work.decisions.newest(1)[0].number if hasattr(ada.work.decisions, 'newest') else 0",
    )
    del number
    admin.ask("assistant why ada", r"asked elsewhere")
    assert TOKEN not in admin.transcript
