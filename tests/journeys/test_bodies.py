"""Assistants that are puppeted, in a bag or nowhere."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.handle import FakeModel
from tests.journeys.clients import Enter, Player
from tests.journeys.game import UNHURRIED
from tests.journeys.lines import say_of, whisper_of
from tests.journeys.staging import line_of, page_of, prompt_of, quiet_log, run

__all__ = ("quiet_log",)
pytestmark = pytest.mark.usefixtures("quiet_log")
# Older than any message may wait.


@pytest.fixture(scope="module")
def game_settings() -> dict[str, Any]:
    return UNHURRIED


@pytest.fixture
def puppeteer(enter: Enter, elsewhere: Player) -> Player:
    """Helen, who is staff but no superuser, puppeting Ada."""
    helen = enter("Helen")
    run(elsewhere, "evennia.search_account('Helen')[0].permissions.add('Admin')")
    helen.ask("ic helen", "You become Helen|already puppeting")
    helen.ask("ic ada", "You become Ada")
    return helen


@pytest.fixture
def elsewhere(admin: Player) -> Iterator[Player]:
    """The owner, who puts Ada where the test wants her; afterwards she is back."""
    run(admin, "ada.obj.db.was_at = ada.obj.location")
    yield admin
    run(
        admin,
        "[ada.obj.account.unpuppet_object(s) for s in ada.obj.sessions.all()]\n"
        "ada.obj.location = ada.obj.db.was_at\n"
        "ada.obj.locks.add('get:false()')\n"
        "ada.clear_emergency_stop()\n"
        "[bag.delete() for bag in search_object('sack')]",
    )


def test_who_looks_through_her_eyes_sees_what_she_hears(
    enter: Enter, puppeteer: Player, admin: Player, model: FakeModel
) -> None:
    """Her puppeteer sees whispers, speech and channels, and she still answers."""
    run(admin, "operations.set_channel(ada, 'public', 'ignore')")
    tom = enter("Tom", by="websocket")
    tom.ask("whisper ada = psst", whisper_of("psst"))
    puppeteer.expect('Tom whispers: "psst"')
    tom.ask("say @ada aloud", say_of("aloud"))
    puppeteer.expect('Tom says, "@ada aloud"')
    puppeteer.expect(say_of("aloud"))
    tom.ask("page ada = far", page_of("far"))
    puppeteer.expect("Tom pages: far")
    model.behave(style="plain", content="Here.")
    tom.ask("public @ada anybody?", line_of("Public", "Here."))
    puppeteer.expect(r"\[Public\] Tom: @ada anybody\?")
    assert 1 == puppeteer.count("Tom: @ada anybody?")
    assert 1 == puppeteer.count("Ada: Here.")


def test_what_her_player_says_is_context(enter: Enter, puppeteer: Player, model: FakeModel) -> None:
    """She does not answer her own words, but remembers them when she is asked next."""
    tom = enter("Tom")
    puppeteer.ask("say @ada the tide turns at nine", "You say")
    puppeteer.ask("pose lights @ada a lamp", "Ada lights")
    tom.ask("whisper ada = what did you say?", whisper_of("what did you say?"))
    (call,) = model.read_calls()
    assert "the tide turns at nine" in prompt_of(call)
    assert "lamp" in prompt_of(call)


PRIVATE_LINES = (
    ("inventory", "carrying"),
    ("examine tom", "Typeclass"),
    ("whisper tom = between us two", "You whisper"),
    ("page tom = also between us", "You paged"),
    ("nosuchcommand", "not available"),
    ("help whisper", "(?i)usage"),
    ("who", "(?i)accounts"),
    ("public/who", "(?i)subscri|unable|usage|not|Tom"),
)


def test_what_her_player_does_is_not_told_to_others(
    enter: Enter, puppeteer: Player, model: FakeModel
) -> None:
    """Output of her puppeteer's commands and their private words stay out of her context."""
    tom, mira = enter("Tom"), enter("Mira")
    for line, seen in PRIVATE_LINES:
        puppeteer.ask(line, seen)
    mira.ask("whisper ada = what did you do?", whisper_of("what did you do?"))
    prompt = prompt_of(model.read_calls()[-1])
    assert 'Mira whispers to you (trust 0.9): "what did you do?"' == prompt.splitlines()[-1]
    assert "between us" not in prompt
    tom.expect("between us")


@pytest.mark.parametrize("leave", ["ic helen", "ooc", "quit"])
def test_after_her_player_left_she_is_herself(enter: Enter, puppeteer: Player, leave: str) -> None:
    tom = enter("Tom")
    puppeteer.ask(leave, "You become Helen|You go OOC|[Qq]uit")
    tom.ask("whisper ada = hello", whisper_of("hello"))
    tom.ask("look ada", "AN AI")
    tom.ask("say @ada still you?", say_of("still you?"))


def test_a_superuser_in_her_body_is_no_error_of_hers(
    enter: Enter, elsewhere: Player, model: FakeModel
) -> None:
    """A superuser in her body makes her pause; it neither counts as an error nor locks her."""
    elsewhere.ask("ic ada", "You become Ada")
    tom = enter("Tom")
    for number in range(6):
        tom.ask(f"whisper ada = {number}?", f'You whisper to Ada, "{number}')
    assert 1 == tom.count("Ada does not seem to hear you."), "he is told so once a minute"
    assert 0 == model.count_calls()
    elsewhere.ask("ic admin", "You become admin")
    assert "(0, '')" == run(elsewhere, "told = ada.db.consecutive_errors or 0, ada.silence")


LOOK = {"calls": [{"tool": "look", "arguments": {}}]}


def test_in_a_bag(enter: Enter, elsewhere: Player, model: FakeModel) -> None:
    """In a carried bag she hears no speech of the room, but pages and whispers still work."""
    tom = enter("Tom")
    run(
        elsewhere,
        "sack = create_object('evennia.objects.objects.DefaultObject', key='sack',"
        " location=character('Tom'))\nada.obj.location = sack",
    )
    tom.ask("say @ada can you hear me?", "You say")
    tom.ask("page ada = can you?", page_of("can you?"))
    whisper = {"target": "Tom", "message": "Let me out"}
    model.queue({"calls": [{"tool": "whisper", "arguments": whisper}]})
    tom.ask("page ada = whisper, please", 'Ada whispers: "Let me out"')
    assert 2 == model.count_calls()


def test_nowhere(enter: Enter, elsewhere: Player, model: FakeModel) -> None:
    """Without a location she cannot be whispered to; page and channel work, and looking fails."""
    run(elsewhere, "operations.set_channel(ada, 'public', 'ignore')\nada.obj.location = None")
    tom = enter("Tom")
    tom.ask("whisper ada = hello?", "Could not find 'ada'")
    tom.ask("page ada = hello?", page_of("hello?"))
    for call in (LOOK, {"calls": [{"tool": "say", "arguments": {"message": "Hello!"}}]}):
        model.queue(call, {"style": "plain", "content": "Nothing."})
        tom.ask("page ada = what is there?", "Ada pages: Nothing.")
    model.queue({"style": "plain", "content": "Nowhere."})
    tom.ask("public @ada where are you?", line_of("Public", "Nowhere."))
    tom.ask("page ada = thanks", page_of("thanks"))
