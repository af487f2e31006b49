"""Talking to Ada when everything works, over telnet and over the webclient."""

import json
from typing import Any

import pytest

from tests.fakes.handle import FakeModel
from tests.journeys.clients import Enter, Player, WebsocketClient
from tests.journeys.game import API_KEY, UNHURRIED, Game
from tests.journeys.lines import ADA, THINKING_PATTERN, say_of, whisper_of

FORCE_BEATS = (
    "py from evennia_ai.assistant_script import AssistantScript; "
    "n = [s.force_repeat() for s in AssistantScript.objects.all() for _ in range(5)]; "
    "self.msg(f'forced {len(n)} beats')"
)


@pytest.fixture(scope="module")
def game_settings() -> dict[str, Any]:
    return UNHURRIED


def test_a_reply_is_plain_text_in_the_webclient(enter: Enter, model: FakeModel) -> None:
    words = "<b>5 < 6</b> |rred|n {0} $random(1,2)"
    model.queue({"calls": [{"tool": "whisper", "arguments": {"target": "Tom", "message": words}}]})
    tom = enter("Tom", by="websocket")
    tom.send("whisper ada = say something odd")
    text = tom.expect(r'Ada whispers: "(.*)"')[1]
    assert words == text
    assert isinstance(tom, WebsocketClient)
    assert not any("<b>" in json.dumps(frame) for frame in tom.frames)


def test_say_with_her_name_is_answered_aloud(enter: Enter) -> None:
    tom, mira = enter("Tom"), enter("Mira")
    tom.send("say @ada books about ships?")
    for player in (tom, mira):
        player.expect(say_of("books about ships?"))


def test_a_whisper_stays_between_two(enter: Enter) -> None:
    tom, mira = enter("Tom"), enter("Mira")
    tom.ask("whisper ada = keep this secret", whisper_of("keep this secret"))
    mira.ask("whisper ada = what did he say?", whisper_of("what did he say?"))
    assert "keep this secret" not in mira.transcript


def test_two_players_at_once_get_their_own_answers(enter: Enter, model: FakeModel) -> None:
    tom, mira = enter("Tom"), enter("Mira", by="websocket")
    model.behave(delay_seconds=0.5)
    tom.send("whisper ada = the lamp?")
    mira.send("whisper ada = the whale?")
    tom.expect(whisper_of("the lamp?"))
    mira.expect(whisper_of("the whale?"))
    assert "the whale" not in tom.transcript
    assert "the lamp?" not in mira.transcript


def test_a_newcomer_is_told_how_to_talk_to_ada(enter: Enter) -> None:
    """The suggested commands work."""
    newcomer = enter("Wren")
    newcomer.expect(r"\(You can talk to Ada: whisper ada = hello, or say @ada hello\.\)")
    newcomer.ask("whisper ada = hello", whisper_of("hello"))
    newcomer.ask("say @ada hello", say_of("hello"))
    newcomer.ask("help talking", r"(?s)whisper.*@ada")


def test_a_slow_answer_is_seen_coming(enter: Enter, model: FakeModel) -> None:
    """After two seconds everybody sees Ada think, once."""
    tom, mira = enter("Tom"), enter("Mira")
    model.queue({"delay_seconds": 4})
    tom.send("whisper ada = a hard one?")
    assert "" == "".join(line for line in tom.watch(1.2).splitlines() if line.startswith("Ada "))
    tom.expect(THINKING_PATTERN, timeout_seconds=2.5)
    tom.expect(whisper_of("a hard one?"))
    mira.expect(THINKING_PATTERN)
    assert 1 == sum(tom.count(line) for line in ADA.thinking)


def test_nothing_happens_and_nothing_is_spent(admin: Player, model: FakeModel) -> None:
    """Beats with an empty inbox make no model call."""
    admin.ask(FORCE_BEATS, r"forced \d\d+ beats")
    admin.ask("whisper ada = still there?", whisper_of("still there?"))
    admin.ask(FORCE_BEATS, r"forced \d\d+ beats")
    admin.ask("whisper ada = and now?", whisper_of("and now?"))
    assert 2 == model.count_calls()


def test_the_key_is_sent_but_kept_nowhere(game: Game, admin: Player, model: FakeModel) -> None:
    """The API key is in neither the database, the logs nor the owner's screen."""
    echo = json.dumps({"error": {"message": f"Incorrect API key provided: {API_KEY}"}})
    model.queue({"kind": "status", "status": 401, "body": echo})
    admin.ask("whisper ada = one?", r"\[assistant\] Ada")
    admin.ask("whisper ada = two?", whisper_of("two?"))
    admin.ask("assistant check", r"scripted-model")
    assert all(call["has_authorization"] for call in model.read_calls())
    assert API_KEY not in admin.transcript
    game.reload()
    for path in [*game.logs, *game.database.parent.glob("evennia.db3*")]:
        assert API_KEY.encode() not in path.read_bytes(), f"the key is in {path.name}"
