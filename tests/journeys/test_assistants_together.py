"""Two assistants within earshot: a talk between them always ends."""

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


@pytest.mark.parametrize("line", ["say @ada begin", "pose waves at @ada"])
def test_a_talk_in_the_room_ends(game: Game, enter: Enter, model: FakeModel, line: str) -> None:
    """Each always names the other: after three of their messages it is over."""
    model.behave(content=ENDLESS)
    tom, start = enter("Tom"), measure_log(game)
    tom.ask(line, r'Ada says, "Tell me more')
    assert CHAIN == count_after(game, tom, model, start, lines=1)


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
