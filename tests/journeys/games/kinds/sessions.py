"""Games of each `MULTISESSION_MODE`, with guests, and without automatic puppeting."""

import re
from collections.abc import Callable

import pytest

from tests.journeys.clients import PASSWORD, Player
from tests.journeys.games.visit import Kind, Visit

CLOSED = "the server closed the telnet connection"
TWO = {"MAX_NR_CHARACTERS": 2, "MAX_NR_SIMULTANEOUS_PUPPETS": 2}


def expect_the_end(player: Player) -> None:
    with pytest.raises(AssertionError, match=CLOSED):
        player.expect("nothing more comes")


def choose(player: Player, name: str, password: str) -> None:
    """Log in where everybody begins out of character."""
    player.ask(f"connect {name} {password}", r"Account|account|\bic\b")
    player.ask(f"ic {name}", "You become")


def one_at_a_time(visit: Visit) -> str:
    """A second login ends the first, and is answered."""
    first, visit.tom = visit.tom, visit.enter("Tom")
    expect_the_end(first)
    visit.whisper(visit.tom, "is it still me?")
    return "a second login ends the first and is answered"


def one_character(visit: Visit) -> str:
    """Two connections to one character both read the answer."""
    again = visit.enter("Tom")
    visit.whisper(again, "who reads this?")
    visit.tom.expect(visit.whispered("who reads this?"))
    leave(again)
    return "both connections of a player read the answer"


def two_characters(visit: Visit) -> str:
    """Two characters of an account whisper at once; each is answered where it asked."""
    other = play_another(visit)
    # In mode 2 the second login has taken over Tom.
    visit.tom.ask("ic Tom", "You become|already puppeting")
    other.send(visit.kind.speech.whisper.format("and what am I?"))
    visit.whisper(visit.tom, "what am I?")
    other.expect(visit.whispered("and what am I?"))
    assert not re.search(visit.whispered("and what am I?"), visit.tom.transcript)
    assert not re.search(visit.whispered("what am I?"), other.transcript)
    leave(other)
    visit.tom.ask("ooc", "You go OOC")
    visit.tom.ask("ic Tom", "You become")  # so that the next login plays him
    return "each of a player's characters is answered where it asked"


def many(visit: Visit) -> str:
    """The same, after two connections to one character."""
    one_character(visit)
    return f"{two_characters(visit)}, at all its connections"


def play_another(visit: Visit) -> Player:
    """A second connection of Tom's, with a second character."""
    player = visit.open()
    player.ask(f"connect Tom {PASSWORD}", "You become|Account|account")
    player.ask("charcreate Wil", "Created new character Wil")
    player.ask("ic Wil", "You become")
    return player


def leave(player: Player) -> None:
    player.send("quit")
    expect_the_end(player)


def out_of_character(visit: Visit) -> str:
    """A player who goes out of character while it thinks reads the answer when back in it."""
    visit.leave_it_thinking(visit.tom, "shall I go?")
    visit.tom.ask("ooc", "You go OOC")
    visit.model.release()
    visit.whisper(visit.bob, "and me?")
    assert not re.search(visit.whispered("shall I go?"), visit.tom.transcript)
    visit.tom.ask("ic Tom", "You become")
    visit.tom.expect(visit.whispered("shall I go?"))
    visit.expect_one_answer(visit.tom, "shall I go?")
    return "who goes out of character meanwhile reads the answer when back"


def guest(visit: Visit) -> str:
    """A guest is answered, and leaves by `quit`; nothing of the account stays."""
    player = visit.open()
    player.ask("connect guest", "You become")
    visit.whisper(player, "may I come in?")
    leave(player)
    counted = "evennia.AccountDB.objects.filter(db_typeclass_path__endswith='Guest').count()"
    visit.owner.ask(f"py 'guests', {counted}", r"'guests', 0")
    return "a guest is answered, quits, and nothing of the account stays"


def mode(number: int, own: Callable[[Visit], str], **settings: object) -> Kind:
    return Kind(
        f"sessions {number}",
        f"`MULTISESSION_MODE = {number}`",
        settings={"MULTISESSION_MODE": number, **settings},
        own=own,
    )


KINDS = (
    mode(0, one_at_a_time),
    mode(1, one_character),
    mode(2, two_characters, **TWO),
    mode(3, many, **TWO),
    Kind(
        "no puppet",
        "`AUTO_PUPPET_ON_LOGIN = False`",
        settings={"AUTO_PUPPET_ON_LOGIN": False},
        log_in=choose,
        own=out_of_character,
    ),
    Kind("guests", "`GUEST_ENABLED = True`", settings={"GUEST_ENABLED": True}, own=guest),
)
