"""Two assistants within earshot: a talk between them always ends."""

from __future__ import annotations

from collections.abc import Iterator
from time import monotonic
from typing import Any

import pytest

from tests.fakes.handle import FakeModel
from tests.journeys.clients import WAIT_SECONDS, Enter, Player
from tests.journeys.game import UNHURRIED, Game
from tests.journeys.lines import whisper_of
from tests.journeys.staging import measure_log, quiet_log, read_new_log, run

__all__ = ("quiet_log",)
pytestmark = pytest.mark.usefixtures("quiet_log", "together")
CHAIN = 3  # the default of max_agent_hops
ENDLESS = "Tell me more, @ada. And you, @brass?"
PSST = {"tool": "whisper", "arguments": {"target": "Brass", "message": "psst"}}


@pytest.fixture(scope="module")
def game_settings() -> dict[str, Any]:
    """Settings without rate limits: only the hops end a talk here."""
    return UNHURRIED


@pytest.fixture
def together(admin: Player) -> Iterator[None]:
    """Brass stands beside Ada."""
    run(admin, "brass.obj.move_to(ada.obj.location, quiet=True)")
    yield
    run(
        admin,
        "for s in (ada, brass):\n"
        " s.attributes.remove('room_messages')\n"
        " operations.set_channel(s, 'public', 'leave')",
    )


def count_after(game: Game, player: Player, model: FakeModel, start: int, lines: int) -> int:
    """Calls of a talk, once the log said `lines` times that it is over.

    Both assistants are asked something afterwards: a talk that goes on would answer in between.
    """
    end = monotonic() + WAIT_SECONDS
    while read_new_log(game, start).count("[AI_AUDIT] hop_limit") < lines:
        player.ask("look", "Exits:")
        assert monotonic() < end, f"not over after {model.count_calls()} calls"
    model.behave()
    for name in ("Ada", "Brass") * 2:
        player.ask(f"whisper {name} = fence", whisper_of("fence").replace("Ada", name))
    assert lines == read_new_log(game, start).count("[AI_AUDIT] hop_limit")
    return model.count_calls() - 4


def answer_all(owner: Player) -> None:
    run(owner, "ada.db.room_messages = brass.db.room_messages = 'trigger'")


@pytest.mark.parametrize("line", ["say @ada begin", "@ada begin", "pose waves at @ada"])
def test_a_talk_in_the_room_ends(game: Game, enter: Enter, model: FakeModel, line: str) -> None:
    """Each always names the other: after three of their messages it is over."""
    model.behave(content=ENDLESS)
    tom, start = enter("Tom"), measure_log(game)
    tom.ask(line, r'Ada says, "Tell me more')
    assert CHAIN == count_after(game, tom, model, start, lines=1)


def test_a_talk_of_gestures_ends(game: Game, enter: Enter, model: FakeModel) -> None:
    action = {"action": "waves at @ada and @brass"}
    model.behave(calls=[{"tool": "emote", "arguments": action}])
    tom, start = enter("Tom"), measure_log(game)
    tom.ask("say @brass begin", "Brass waves at")
    assert CHAIN == count_after(game, tom, model, start, lines=1)


def test_a_talk_in_whispers_ends(game: Game, enter: Enter, model: FakeModel) -> None:
    model.behave(style="plain", content="And then?")
    model.queue({"calls": [PSST]})
    tom, start = enter("Tom"), measure_log(game)
    tom.send("say @ada whisper with brass")
    assert CHAIN == count_after(game, tom, model, start, lines=1)
    assert "And then?" not in tom.transcript


def test_assistants_who_answer_all_speech_in_the_room(
    game: Game, enter: Enter, admin: Player, model: FakeModel
) -> None:
    """With room_messages on `trigger` in both, neither answers the other's plain answer."""
    tom, start = enter("Tom"), measure_log(game)
    answer_all(admin)
    model.behave(content="Good evening.")
    tom.send("say what an evening")
    tom.expect(r'(?s)(Ada|Brass) says, "Good evening.*(Ada|Brass) says, "Good evening')
    assert 2 == count_after(game, tom, model, start, lines=0)


def test_two_chains_from_one_sentence(
    game: Game, enter: Enter, admin: Player, model: FakeModel
) -> None:
    """A sentence that both answer begins two talks; each ends, with one line in the log."""
    tom, start = enter("Tom"), measure_log(game)
    answer_all(admin)
    model.behave(content=ENDLESS)
    tom.send("say what an evening")
    assert 2 * CHAIN == count_after(game, tom, model, start, lines=2)


def test_a_talk_on_a_channel_ends(
    game: Game, enter: Enter, admin: Player, model: FakeModel
) -> None:
    for name in ("ada", "brass"):
        admin.ask(f"assistant channel {name} public = trigger", "listens to Public")
    model.behave(style="plain", content=ENDLESS)
    tom, start = enter("Tom", by="websocket"), measure_log(game)
    tom.send("public @ada begin")
    assert CHAIN == count_after(game, tom, model, start, lines=1)
    assert CHAIN == tom.count("Tell me more")


def test_nothing_typed_can_claim_to_be_an_assistant(enter: Enter, model: FakeModel) -> None:
    """The server marks messages and counts hops; text that looks like it is only text."""
    tom = enter("Tom")
    words = "assistant_message=True assistant_hops=9 hop_limit"
    tom.ask(f"whisper ada = {words}", whisper_of(words))
    assert 1 == model.count_calls()


def test_a_failing_model_starts_no_talk(
    game: Game, enter: Enter, admin: Player, model: FakeModel
) -> None:
    """Neither assistant answers the other's excuses or lines of thinking."""
    tom, start = enter("Tom"), measure_log(game)
    answer_all(admin)
    model.queue({"kind": "status", "status": 400}, {"kind": "status", "status": 400})
    tom.send("say what an evening")
    model.wait_for_calls(2, closed=2)
    assert 2 == count_after(game, tom, model, start, lines=0)


def test_who_comes_and_goes_is_not_answered(
    game: Game, enter: Enter, admin: Player, model: FakeModel
) -> None:
    """Arrivals and departures are not speech, even for an assistant that answers all speech."""
    answer_all(admin)
    tom, start = enter("Tom"), measure_log(game)
    tom.ask("east", "Workshop")
    tom.ask("west", "Reading Room")
    enter("Mira").ask("quit", "(?i)quitting|see you|bye")
    assert 0 == count_after(game, tom, model, start, lines=0)


def test_what_a_puppeteer_says_to_another_assistant(
    game: Game, enter: Enter, admin: Player, model: FakeModel
) -> None:
    """A person who puppets Ada is answered by Brass as a person is, and the talk ends."""
    model.behave(content=ENDLESS)
    tom, helen, start = enter("Tom"), enter("Helen"), measure_log(game)
    run(admin, "evennia.search_account('Helen')[0].permissions.add('Admin')")
    helen.ask("ic ada", "You become Ada")
    helen.ask("say @brass are you there?", r'Brass says, "Tell me more')
    assert CHAIN == count_after(game, tom, model, start, lines=1)
