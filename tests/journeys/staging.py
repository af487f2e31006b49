"""Arrangements and look-ups inside a running game.

All of it goes through the owner's own `py` command, as an owner would do it.
"""

import itertools
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.answers import compose_reply
from tests.journeys.clients import WAIT_SECONDS, Player
from tests.journeys.game import Game

PRELUDE = """
import evennia
from evennia import create_account, create_channel, create_object, search_channel, search_object
from evennia_ai import operations
from evennia_ai.operations import find_assistant
here = me.location
ada, brass = find_assistant("ada"), find_assistant("brass")
def character(name):
    return search_object(name, typeclass="world.characters.Character")[0]
def channel(name):
    return search_channel(name)[0]
"""
_numbers = itertools.count(1)
_TROUBLE = re.compile(r"Traceback|could not hear|Unhandled|CRITICAL")


@pytest.fixture
def quiet_log(game: Game) -> Iterator[None]:
    """The test leaves no traceback in the server's log."""
    start = measure_log(game)
    yield
    assert [] == find_trouble(read_new_log(game, start))


def run(owner: Player, code: str, timeout_seconds: float = WAIT_SECONDS) -> str:
    """Run Python in the game and return the value of its `told`.

    The code sees `me` (the owner's character), `ada`, `brass`, and all that `PRELUDE` defines.

    Raises:
        AssertionError: it raised; the message holds the traceback.
    """
    number = next(_numbers)
    end = f"me.account.msg('<%s %d>' % (told, {number}))"
    whole = f"{PRELUDE}\ntold = ''\n{code}\n{end}"
    owner.send(f"py exec({whole!r}, dict(me=me))")
    match = owner.expect(rf"<([^<>]*) {number}>|\n *\w+Error: .*", timeout_seconds)
    assert match[1] is not None, match[0]
    return str(match[1])


def read_new_log(game: Game, start: int) -> str:
    return (game.folder / "server/logs/server.log").read_bytes()[start:].decode("utf-8", "replace")


def measure_log(game: Game) -> int:
    return (game.folder / "server/logs/server.log").stat().st_size


def find_trouble(log: str) -> list[str]:
    """The lines of a log that report something broken."""
    return [line for line in log.splitlines() if _TROUBLE.search(line)]


def prompt_of(call: dict[str, Any]) -> str:
    """The last user message in one of the model's calls."""
    texts = [m["content"] for m in call["body"]["messages"] if m["role"] == "user"]
    return str(texts[-1])


def page_of(words: str, name: str = "Ada") -> str:
    """A pattern for an assistant's paged answer to `words`."""
    return rf"{name} pages: {re.escape(compose_reply(words))}"


def line_of(channel: str, words: str, name: str = "Ada") -> str:
    """A pattern for an assistant's words on a channel."""
    return rf"\[{channel}\] {name}: {re.escape(words)}"
