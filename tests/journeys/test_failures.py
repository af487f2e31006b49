"""A model that fails in every way a server can: the game goes on and the player is told."""

import re
from typing import Any

import pytest

from tests.fakes.handle import FakeModel
from tests.journeys.clients import Enter, Player
from tests.journeys.game import UNHURRIED
from tests.journeys.lines import FAILURE, FAILURE_PATTERN, whisper_of

DEADLINE_SECONDS = 2.0
TOLD_SECONDS = 20.0
NOTICE = r"\[assistant\] Ada.*\n.*"
NEVER_SHOWN = ("Traceback", "Error", "error", "Exception", "timeout", "503", "500", "429", "<html")


@pytest.fixture(scope="module")
def game_settings() -> dict[str, Any]:
    """A short deadline, so that waiting for it does not take long, and no rate limits."""
    return {"EVENNIA_AI_CALL_DEADLINE_SECONDS": DEADLINE_SECONDS, **UNHURRIED}


REST = (
    "py from evennia_ai.runtime import services; services.pool().breakers.reset_all(); "
    "self.msg('breakers' + ' are reset')"
)


@pytest.fixture(autouse=True)
def rested(admin: Player) -> None:
    """The failures of one test do not open a breaker in the next."""
    admin.ask(REST, "breakers are reset")


FAILURES = [
    pytest.param({"kind": "hang"}, r"within 2 s", id="hangs"),
    pytest.param({"kind": "drip"}, r"within 2 s", id="drips"),
    pytest.param({"kind": "reset"}, r"(?i)connect", id="cuts the connection"),
    pytest.param({"kind": "html"}, r"(?i)json|html", id="sends HTML"),
    pytest.param({"kind": "empty_object"}, r"(?i)choices|empty", id="sends {}"),
    pytest.param({"kind": "truncated"}, r"(?i)json", id="sends half an answer"),
    pytest.param(
        {"kind": "huge", "ignores_limit": True}, r"the most that is read", id="sends far too much"
    ),
    pytest.param({"kind": "status", "status": 500}, r"500", id="says 500"),
    pytest.param(
        {"kind": "status", "status": 429, "retry_after_seconds": 1}, r"429|rate", id="says 429"
    ),
    pytest.param({"kind": "status", "status": 401}, r"401|key", id="says 401"),
]


def expect_told_once(player: Player, model: FakeModel) -> None:
    """The player reads one line in character; once the model is well, the next answer comes."""
    player.expect(FAILURE_PATTERN, TOLD_SECONDS)
    model.reset()
    player.ask("whisper ada = better now?", whisper_of("better now?"), TOLD_SECONDS)
    assert 1 == player.count(FAILURE)
    assert [] == [word for word in NEVER_SHOWN if word in player.transcript]


@pytest.mark.parametrize(("behaviour", "cause"), FAILURES)
def test_a_player_is_told_and_staff_know_why(
    enter: Enter, admin: Player, model: FakeModel, behaviour: dict[str, Any], cause: str
) -> None:
    """The player gets one line in character, staff the true cause, and others notice nothing."""
    tom, mira = enter("Tom"), enter("Mira")
    model.behave(**behaviour)
    tom.send("whisper ada = hello?")
    model.wait_for_calls(1)
    mira.ask("look", "The Reading Room")
    notice = admin.expect(NOTICE, TOLD_SECONDS)[0]
    assert re.search(cause, notice), notice
    assert "Tom" in notice
    expect_told_once(tom, model)


def test_a_model_that_cannot_be_reached(enter: Enter, admin: Player, model: FakeModel) -> None:
    """Staff read the address that refused the connection."""
    tom = enter("Tom")
    model.refuse_connections()
    tom.send("whisper ada = hello?")
    notice = admin.expect(NOTICE, TOLD_SECONDS)[0]
    assert model.root_url.removeprefix("http://") in notice
    expect_told_once(tom, model)


def test_the_game_goes_on_while_the_model_hangs(enter: Enter, model: FakeModel) -> None:
    tom, mira = enter("Tom"), enter("Mira", by="websocket")
    model.behave(kind="hang")
    tom.send("whisper ada = hello?")
    model.wait_for_calls(1)
    for _ in range(20):
        mira.ask("look", "The Reading Room")
    assert 1 == model.read_ledger()["in_flight"]
    expect_told_once(tom, model)


def test_a_call_that_is_given_up_is_closed(enter: Enter, model: FakeModel) -> None:
    """The closed connection makes the model stop working on the answer."""
    tom = enter("Tom")
    model.behave(kind="hang")
    tom.send("whisper ada = hello?")
    tom.expect(FAILURE_PATTERN, TOLD_SECONDS)
    calls = model.wait_for_calls(1, closed=1)
    assert calls[0]["is_abandoned"]
    expect_well(tom, model)


def expect_well(player: Player, model: FakeModel) -> None:
    model.reset()
    player.ask("whisper ada = well again?", whisper_of("well again?"), TOLD_SECONDS)
