"""Two games whose assistants ask each other: chains end, and both ledgers agree."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.handle import MODEL_NAME, FakeModel
from tests.journeys.a2a_client import (
    Peer,
    make_account,
    message,
    report,
    settings_of,
    state_of,
    token_of,
)
from tests.journeys.clients import WAIT_SECONDS
from tests.journeys.game import Game
from tests.journeys.ports import ClaimedPorts
from tests.journeys.staging import find_trouble, run

PASSWORD = "lantern-oak-51"
OTHER = "OTHER_GAME_TOKEN"
SAYS = {"calls": [{"tool": "say", "arguments": {"message": "So it is."}}]}
SETTING = "EVENNIA_AI_REMOTE_SPECIALISTS"
READY = """
import evennia_ai
for s in (ada, brass):
    s.db.compact_enabled = False
    s.db.execution_config = {'sub_agents_enabled': True}
"""


@dataclass
class Side:
    """One of the two games.

    Attributes:
        port: port of its A2A server.
        token: the other game's token here.
        account: the id of the other game's account here.
    """

    game: Game
    port: int
    token: str = ""
    account: int = 0

    def spent(self, wanted: str) -> list[int]:
        """Tokens of each model call that meets a condition, once all calls have ended."""
        sql = (
            "SELECT prompt_tokens + completion_tokens FROM evennia_ai_modelcall WHERE "
            f"state != 'released' AND {wanted}"
        )
        end = time.monotonic() + WAIT_SECONDS
        while self.game.query("SELECT 1 FROM evennia_ai_modelcall WHERE state = 'open'"):
            assert time.monotonic() < end, "a call is open still"
            time.sleep(0.2)
        return [int(row[0]) for row in self.game.query(sql)]

    def spent_for_peer(self) -> int:
        """Tokens of all calls that the other game's tasks caused here."""
        return sum(self.spent(f"person = '*#{self.account}'"))

    def spent_elsewhere(self) -> int:
        """Tokens of all tasks that were delegated to the other game."""
        return sum(self.spent("purpose = 'remote'"))


def remotes(port: int) -> dict[str, Any]:
    """The other game's assistants, as a game's setting names them."""
    entry = {
        "assistants": ["*"],
        "token_env": OTHER,
        "private": True,
        "networks": ["127.0.0.1/32"],
        "seconds": 40,
    }
    return {
        f"far-{name}": {**entry, "card": f"http://127.0.0.1:{port}/a2a/{name}"}
        for name in ("ada", "brass")
    }


@pytest.fixture(scope="module")
def sides(
    template: Path, model_server: FakeModel, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Side, Side]]:
    """Both games, running; each has a token of the other in its environment."""
    model_server.reset()
    ports = ClaimedPorts(2)
    pair = []
    for number in ports.numbers:
        game = Game.copy(template, tmp_path_factory.mktemp("side") / "game")
        pair.append(Side(game, number))
    first, second = pair
    try:
        for side, other in ((first, second), (second, first)):
            _prepare(side, other, model_server)
        for side, other in ((first, second), (second, first)):
            side.game.env[OTHER] = other.token
            side.game.settings[SETTING] = remotes(other.port)
            side.game.start()
            Peer(side.port, side.token).wait()
        with first.game.open_telnet() as tom:
            tom.create_account("Tom")
        yield first, second
    finally:
        for side in pair:
            side.game.clean_up()
        ports.release()


def _prepare(side: Side, other: Side, model: FakeModel) -> None:
    """Make the other game's account and token; the game is stopped again."""
    game = side.game
    game.ask_model_at(model.base_url, MODEL_NAME)
    unattended = {"on_limit": {"mode": "unattended"}}
    game.settings |= {**settings_of(side.port), "EVENNIA_AI_SAFETY_CONFIG": unattended}
    game.start()
    with game.log_in_admin() as owner:
        run(owner, READY)
        make_account(owner, "Other", PASSWORD)
    side.token = token_of(game, "Other", PASSWORD)
    rows = game.query("SELECT id FROM accounts_accountdb WHERE username = 'Other'")
    side.account = int(rows[0][0])
    game.stop()


def hands_on(specialist: str) -> dict[str, Any]:
    """A model's behaviour: it delegates its task to an assistant of the other game."""
    arguments = {"task": "Where is the atlas?", "specialist": specialist}
    return {"calls": [{"tool": "delegate_task", "arguments": arguments}]}


def results(model: FakeModel) -> list[str]:
    """The result of each tool, in the order in which models read it."""
    texts = []
    for call in model.read_calls():
        last = call["body"]["messages"][-1]
        if last["role"] == "tool":
            data = json.loads(last["content"])
            texts.append(str(data.get("result") or data.get("error")))
    return texts


def begin(side: Side, model: FakeModel, *answers: dict[str, Any]) -> None:
    """Tom asks Ada of a game, and she answers after the arranged answers."""
    model.queue(*answers, SAYS)
    with side.game.open_telnet() as tom:
        tom.log_in("Tom")
        tom.ask("say @ada where is the atlas?", r'Ada says, "So it is', 3 * WAIT_SECONDS)


def test_a_chain_over_two_games_ends(sides: tuple[Side, Side], model: FakeModel) -> None:
    """The third assistant of a chain may delegate no further, and says so."""
    first, second = sides
    begin(
        first,
        model,
        hands_on("far-ada"),
        hands_on("far-brass"),
        hands_on("far-brass"),
        report("Nobody else may be asked."),
        report("I was told nobody else may be asked."),
    )
    texts = results(model)
    assert 3 == len(texts), texts
    assert "max_agent_hops" in texts[0]
    assert "Nobody else may be asked." in texts[1]
    assert "I was told nobody" in texts[2]
    assert 6 == model.count_calls()
    assert first.spent_elsewhere() == second.spent_for_peer() > 0
    assert second.spent_elsewhere() == first.spent_for_peer() > 0
    assert first.spent_elsewhere() > second.spent_elsewhere()
    for side in sides:
        assert [] == find_trouble((side.game.folder / "server/logs/server.log").read_text())


def test_a_chain_that_comes_back_is_a_circle(sides: tuple[Side, Side], model: FakeModel) -> None:
    """An assistant that waits for a chain cannot be asked in it, so nobody waits in vain."""
    first, _ = sides
    with first.game.open_telnet() as tom:
        model.queue(hands_on("far-ada"), hands_on("far-ada"), report("She waits for me."), SAYS)
        tom.log_in("Tom")
        tom.ask("say @ada where is the atlas?", r'Ada says, "So it is', 3 * WAIT_SECONDS)
    assert "Ada waits for what you do yourself, so it cannot be asked" in results(model)[0]


def test_a_peer_can_claim_more_hops_and_no_fewer(
    sides: tuple[Side, Side], model: FakeModel
) -> None:
    """A peer's claim can only end a chain sooner; an invalid one is ignored."""
    first, _ = sides
    peer = Peer(first.port, first.token)
    for hops in (3, 99, 1e300):
        refusal = peer.refusal(message("Where is the atlas?", hops=hops))
        assert "takes part in no chain of more than 3 (max_agent_hops)" in refusal
    model.behave(**report("In the north wing."))
    for hops in (0, 2, -5, "99", True, None):
        assert "COMPLETED" == state_of(peer.ask("Where is the atlas?", hops=hops))
