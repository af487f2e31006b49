"""A burst of lines, and a reload while messages wait."""

import re
from collections.abc import Iterator

import pytest

from tests.fakes.answers import compose_reply
from tests.fakes.handle import FakeModel
from tests.journeys.clients import Enter, Player
from tests.journeys.game import Game
from tests.journeys.lines import whisper_of
from tests.journeys.staging import prompt_of, quiet_log, run

__all__ = ("quiet_log",)
pytestmark = pytest.mark.usefixtures("quiet_log", "fresh")


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
    player.send("\r\n".join(lines))


@pytest.mark.parametrize("line", ["say @ada line {}", "whisper ada = line {}"])
def test_a_pasted_burst_is_one_turn(enter: Enter, model: FakeModel, line: str) -> None:
    """One call gets all ten lines, in order."""
    tom = enter("Tom")
    send_at_once(tom, [line.format(number) for number in range(10)])
    tom.expect(re.escape(compose_reply("line 9")))
    tom.ask("whisper ada = and then?", whisper_of("and then?"))
    first, second = model.read_calls()
    matches = re.findall(r'"line (\d)"|"@ada line (\d)"', prompt_of(first))
    assert list("0123456789") == [a or b for a, b in matches]
    assert "line" not in prompt_of(second)


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
