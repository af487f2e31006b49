"""A game on rpsystem, with descriptions, masks and recogs."""

import re
from contextlib import ExitStack

from tests.journeys.classes import RPSYSTEM, stand_on
from tests.journeys.clients import Player
from tests.journeys.game import Game
from tests.journeys.games.visit import Kind, Speech, Visit

SDESC = "evennia.search_object('Edda')[0].sdesc.add('a stone giant')"
SPEECH = Speech(
    whisper="whisper stone giant = {}",
    say="say stone giant, {}",
    page="page stone giant = {}",
    whispered='A stone giant whispers "{}"',
    said='A stone giant says, "{}"',
    paged="a stone giant pages: {}",
)


def found(game: Game, stack: ExitStack) -> None:
    stand_on(RPSYSTEM, game.folder / "typeclasses")


def describe(owner: Player) -> None:
    """Give it the description of a stone giant."""
    owner.ask(f"py {SDESC}", "a stone giant")


def masked(visit: Visit) -> str:
    """It answers to a recog, and treats a masked player as somebody else."""
    visit.bob.ask("recog stone giant as Rocky", "You will now remember")
    visit.bob.ask("say Rocky, who am I?", 'Rocky says, "I heard: Rocky, who am I\\?"')
    visit.bob.ask("whisper stone giant = a secret", 'Rocky whispers "I heard: a secret"')
    visit.bob.ask("mask a grinning wolf", "You wear a mask as")
    visit.model.queue({"style": "plain", "content": "Good day, stranger."})
    visit.bob.ask("whisper stone giant = and now?", 'whispers "Good day, stranger."')
    asked = str(visit.model.read_calls()[-1]["body"])
    assert "grinning wolf" in asked
    assert [] == re.findall(r".{,60}(?:\bBob\b|a secret).{,60}", asked)
    visit.bob.ask("unmask", "You remove your mask")
    read = visit.tom.transcript + visit.bob.transcript
    assert [] == re.findall(r".*\bEdda\b.*", read)
    return "called by description and recog; a mask is somebody else; no key is shown"


KINDS = (
    Kind(
        "rpsystem",
        "`rpg.rpsystem`, with masks and recogs",
        found=found,
        settle=describe,
        speech=SPEECH,
        own=masked,
    ),
)
