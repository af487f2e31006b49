"""Pages to assistants, with and without an account of their own, and between players."""

from typing import Any

import pytest

from tests.fakes.handle import FakeModel
from tests.journeys.clients import Enter
from tests.journeys.game import UNHURRIED
from tests.journeys.lines import whisper_of
from tests.journeys.staging import page_of, quiet_log

__all__ = ("quiet_log",)
pytestmark = pytest.mark.usefixtures("quiet_log")


@pytest.fixture(scope="module")
def game_settings() -> dict[str, Any]:
    return UNHURRIED


@pytest.fixture(scope="module")
def brass_has_account(game: Any) -> None:
    """Brass owns an account; Ada never does here."""
    with game.log_in_admin() as owner:
        owner.ask("assistant account brass", "has an account now")


@pytest.mark.parametrize("between", ["page", "page/last", "page 3"])
def test_looking_at_old_pages_does_not_change_whom_one_talks_to(enter: Enter, between: str) -> None:
    tom, mira = enter("Tom"), enter("Mira")
    tom.ask("page mira = hello", "You paged Mira with: 'hello'")
    tom.ask("page ada = can you keep a secret?", page_of("can you keep a secret?"))
    tom.send(between)
    tom.ask("page the treasure is buried", r"You paged (Ada|Mira) with: '.*treasure")
    mira.ask("whisper ada = fence", whisper_of("fence"))
    assert "treasure" not in mira.transcript
    assert "with: '3'" not in tom.transcript


def test_pages_between_players_are_as_ever(enter: Enter, model: FakeModel) -> None:
    """Our command leaves page, page/last, page <number> and errors to the game's own."""
    wren, mira = enter("Wren"), enter("Mira", by="websocket")
    wren.ask("page hello there", "Who do you want page")
    wren.ask("page/last", "You haven't paged anyone yet")
    wren.ask("page", "You haven't sent or received any pages yet|no pages")
    wren.ask("page mira = :smiles = twice", "You paged Mira with: 'Wren smiles = twice'")
    mira.expect("Wren pages: Wren smiles = twice")
    wren.ask("page/last", "You last paged Mira:Wren smiles = twice")
    wren.ask("page nobodyatall = hi", "Could not find 'nobodyatall'")
    wren.ask("tell mira = by the other name", "You paged Mira")
    wren.ask("page", r"(?s)twice.*by the other name")
    mira.ask("page wren = and back", "You paged Wren")
    wren.expect("Mira pages: and back")
    assert 0 == model.count_calls()


@pytest.mark.parametrize("by", ["telnet", "websocket"])
def test_out_of_character_an_account_is_paged(
    enter: Enter, brass_has_account: None, model: FakeModel, by: str
) -> None:
    """The game's own page reaches an assistant that has an account, and is answered."""
    tom = enter("Tom", by=by)
    tom.ask("ooc", "You go OOC")
    tom.ask("page brass = are you in?", page_of("are you in?", "Brass"))
    tom.ask("page brass and now?", page_of("and now?", "Brass"))
    tom.ask("page again?", page_of("again?", "Brass"))
    tom.ask("page ada = are you in?", "Could not find 'ada'")
    tom.ask("ic", "You become")
    tom.ask("page brass = once, please", page_of("once, please", "Brass"))
    either = f"{page_of('both?')}|{page_of('both?', 'Brass')}"
    first = tom.ask("page ada, brass = both?", either)[0]
    assert first != tom.expect(either)[0]
    assert 6 == model.count_calls()


def test_nobody_can_log_in_as_an_assistant(game: Any, brass_has_account: None) -> None:
    """The account of an assistant has no valid password."""
    with game.open_telnet() as thief:
        for password in ('""', "None", "!", "brass"):
            thief.ask(f"connect Brass {password}", "(?i)incorrect|usage")
