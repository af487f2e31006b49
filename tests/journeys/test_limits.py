"""Limits for one person: bursts, floods and long talks, and the commands for players."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.fakes.answers import compose_reply
from tests.fakes.handle import FakeModel
from tests.journeys.clients import Enter, Player
from tests.journeys.game import Game
from tests.journeys.lines import say_of, whisper_of
from tests.journeys.staging import page_of, prompt_of, quiet_log, run

__all__ = ("quiet_log",)
pytestmark = pytest.mark.usefixtures("quiet_log", "fresh")
TOO_MUCH = r'Ada raises a hand\. "One thing at a time'
LATER = r'Ada nods\. "One moment, please'


@pytest.fixture
def fresh(admin: Player) -> Iterator[None]:
    """Ada has met nobody and remembers no talk, and no message waits."""
    run(
        admin,
        "work = ada.work\nwork.senders.people.clear()\nwork.conversations.by_place.clear()\n"
        "work.overheard.clear()\nada.attributes.remove('hearing_config')",
    )
    yield
    run(
        admin,
        "from evennia_ai.runtime import state\nstate.discard(ada, list(ada.work.inbox))\n"
        "ada.attributes.remove('hearing_config')\nada.attributes.remove('room_messages')",
    )


def send_at_once(player: Player, lines: list[str]) -> None:
    """Paste lines as one piece, as a client does."""
    player.send("\r\n".join(lines))


@pytest.mark.parametrize("line", ["say @ada line {}", "whisper ada = line {}"])
def test_a_pasted_burst_is_one_turn(enter: Enter, model: FakeModel, line: str) -> None:
    """One call gets all ten lines, in order."""
    tom = enter("Tom")
    send_at_once(tom, [line.format(number) for number in range(10)])
    tom.expect(re.escape(compose_reply("line 9")))
    tom.ask("whisper ada = and then?", whisper_of("and then?"))
    first, second = model.read_calls()
    told = re.findall(r'"line (\d)"|"@ada line (\d)"', prompt_of(first))
    assert list("0123456789") == [a or b for a, b in told]
    assert "line" not in prompt_of(second)


def test_a_flood_is_answered_six_times_a_minute(
    enter: Enter, admin: Player, model: FakeModel
) -> None:
    """The sender is told once of the wait and once of the lost messages; others are answered."""
    run(admin, "ada.db.hearing_config = {'batch_messages': 1}")
    tom, mira = enter("Tom"), enter("Mira", by="websocket")
    for number in range(30):
        tom.send(f"whisper ada = flood {number}")
    tom.expect(TOO_MUCH)
    mira.ask("whisper ada = and me?", whisper_of("and me?"))
    tom.expect(whisper_of("flood 5"))
    tom.ask("whisper ada = are you there?", "You whisper")
    mira.ask("whisper ada = still?", whisper_of("still?"))
    assert [1, 1] == [len(re.findall(line, tom.transcript)) for line in (LATER, TOO_MUCH)]
    assert 6 == tom.count("Ada whispers: ")
    assert 8 == model.count_calls()
    assert "raises a hand" not in mira.transcript
    admin.ask("assistant why ada full", "of Mira")
    admin.expect(r"Tom: whisper .*, (refused|told)")


def test_two_characters_of_one_player_count_as_one(
    enter: Enter, admin: Player, model: FakeModel
) -> None:
    """A page and a whisper of the same player share one allowance."""
    run(admin, "ada.db.hearing_config = {'calls_per_player': 1}")
    tom = enter("Tom")
    tom.ask("whisper ada = first", whisper_of("first"))
    tom.ask("page ada = second", LATER)
    assert 1 == model.count_calls()


def test_the_same_speaker_need_not_repeat_her_name(enter: Enter, model: FakeModel) -> None:
    tom = enter("Tom")
    tom.ask("say @ada hello", say_of("hello"))
    tom.ask("say where are the ships?", say_of("where are the ships?"))
    assert 2 == model.count_calls()


@pytest.mark.parametrize("between", ["say Mira, look at that", "say @brass hello", "say mira! hey"])
def test_a_word_to_somebody_else_ends_the_talk(
    enter: Enter, model: FakeModel, between: str
) -> None:
    tom, _mira = enter("Tom"), enter("Mira")
    tom.ask("say @ada hello", say_of("hello"))
    tom.ask(between, "You say")
    tom.ask("say what an evening", "You say")
    tom.ask("whisper ada = fence", whisper_of("fence"))
    assert 2 == model.count_calls()


def test_a_word_of_somebody_else_ends_the_talk(enter: Enter, model: FakeModel) -> None:
    """If another person speaks in between, she waits to be named again."""
    tom, mira = enter("Tom"), enter("Mira", by="websocket")
    tom.ask("say @ada hello", say_of("hello"))
    mira.ask("say good evening, all", "You say")
    tom.ask("say good evening", "You say")
    tom.ask("whisper ada = fence", whisper_of("fence"))
    assert 2 == model.count_calls()


@pytest.mark.parametrize("line", ["whisper ada = hello", "page ada = hello"])
def test_a_private_word_opens_no_talk(enter: Enter, model: FakeModel, line: str) -> None:
    tom = enter("Tom")
    tom.ask(line, "Ada (whispers|pages): ")
    tom.ask("say what an evening", "You say")
    tom.ask("whisper ada = fence", whisper_of("fence"))
    assert 2 == model.count_calls()


def test_a_talk_does_not_follow_into_another_room(enter: Enter, model: FakeModel) -> None:
    tom = enter("Tom")
    tom.ask("say @ada hello", say_of("hello"))
    tom.ask("east", "Workshop")
    tom.ask("say what a mess", "You say")
    tom.ask("page ada = fence", page_of("fence"))
    assert 2 == model.count_calls()
    tom.ask("west", "Reading Room")


def test_muted_she_neither_hears_nor_is_heard(enter: Enter, model: FakeModel) -> None:
    tom, mira = enter("Tom"), enter("Mira", by="websocket")
    tom.ask("assistant mute ada", "no longer hears you")
    tom.ask("assistant mute ada", "have already muted Ada")
    for line in ("whisper ada = psst", "say @ada hello", "@ada hello"):
        tom.ask(line, "You (whisper|say)")
    tom.ask("page ada = hello", "You paged")
    mira.ask("say @ada hear me", say_of("hear me"))
    mira.ask("whisper ada = fence", whisper_of("fence"))
    tom.ask("look", "Exits")
    assert not re.search(r"Ada (says|whispers|pages)", tom.transcript)
    assert 2 == model.count_calls()
    tom.ask("assistant unmute ada", "hears you again")
    tom.ask("whisper ada = back?", whisper_of("back?"))


def test_to_be_forgotten_is_asked_first(enter: Enter) -> None:
    tom = enter("Tom")
    tom.ask("whisper ada = remember the green door", whisper_of("remember the green door"))
    tom.ask("assistant forget me", r"yes \| no")
    tom.send("no")
    tom.ask("assistant memory", "the green door")


def test_why_tells_a_player_of_nobody_else(enter: Enter, admin: Player) -> None:
    """Players see their own messages only, also by number; staff see everybody's, masked."""
    tom, mira = enter("Tom"), enter("Mira", by="websocket")
    mira.ask("whisper ada = the secret of Mira", whisper_of("the secret of Mira"))
    tom.ask("whisper ada = my own", whisper_of("my own"))
    number = int(admin.ask("assistant why ada full", r"message (\d+) of Tom")[1])
    admin.expect(r'whisper "\(6 characters\)"')
    admin.expect("3 direct_message: trigger")
    admin.expect(r'Mira: whisper "\(18 characters\)"')
    admin.expect("private words are masked; add reveal")
    admin.ask("assistant why ada full reveal", 'whisper "my own"')
    admin.expect('Mira: whisper "the secret of Mira"')
    tom.ask("assistant why full", rf"message {number} of Tom")
    tom.ask("assistant why ada full", r"trust +0\.9")
    for asked in (f"assistant why {number - 1}", f"assistant why ada {number - 1}"):
        tom.ask(asked, rf"has no message {number - 1} on record")
    masked = admin.ask(f"assistant why {number - 1} full", r"message [\s\S]*masked; add reveal")[0]
    assert "secret" not in masked
    admin.ask(f"assistant why {number - 1} reveal", "the secret of Mira")
    assert "secret" not in tom.transcript


def test_why_tells_of_silence(enter: Enter) -> None:
    tom = enter("Tom")
    tom.ask("say what an evening", "You say")
    tom.ask("assistant why full", r"7 default: ignore")
    tom.ask("pose yawns at @brass", "Tom yawns")
    tom.ask("assistant why ada full", r'pose "yawns at @brass"')


def test_that_she_is_an_ai_is_always_said(enter: Enter, admin: Player) -> None:
    """Her look says that she is an AI, whatever a builder writes about her."""
    old = run(admin, "told = ada.obj.db.desc")
    admin.ask("desc ada = A tall woman who SAID hello to Aidan.", "description was set")
    try:
        for by in ("telnet", "websocket"):
            enter("Tom", by=by).ask("look ada", r"Aidan\. \(Ada is an AI\.\)")
    finally:
        run(admin, f"ada.obj.db.desc = {old!r}")


def test_a_reload_in_the_middle_loses_nothing(
    game: Game, enter: Enter, admin: Player, model: FakeModel
) -> None:
    """Mutes, records, overheard speech and waiting messages survive a reload."""
    run(admin, "operations.set_channel(ada, 'public', 'context')")
    tom, mira = enter("Tom"), enter("Mira", by="websocket")
    mira.ask("assistant mute ada", "no longer hears you")
    tom.ask("public the tide turns at nine", "Tom: the tide turns")
    model.queue({"kind": "hang"})
    tom.send("whisper ada = before the reload?")
    model.wait_for_calls(1)
    admin.ask("reload", "(?i)restarted|reload complete|finished", 40)
    model.release()
    tom.expect(whisper_of("before the reload?"), 40)
    assert "the tide turns at nine" in prompt_of(model.read_calls()[-1])
    assert 1 == tom.count(compose_reply("before the reload?"))
    tom.ask("assistant why full", 'whisper "before the reload\\?"')
    tom.expect("public|Public")
    mira.ask("whisper ada = hello", "You whisper")
    mira.ask("assistant unmute ada", "hears you again")
    mira.ask("whisper ada = hello again", whisper_of("hello again"))
    assert compose_reply("hello") + '"' not in mira.transcript
    run(admin, "operations.set_channel(ada, 'public', 'leave')")
