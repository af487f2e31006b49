"""The steps of every game of the matrix, in order: installed, talked to, taken out again."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from tests.fakes.answers import compose_reply
from tests.journeys.games.visit import WORKS, Step, Visit
from tests.journeys.test_install import follow_in_game, follow_on_disk, read_install_steps

NOTHING = ""
# How an owner ends it before the lines come out; pairs of a line and what it is answered with.
GOODBYE = (("assistant remove all", "Remove all assistants"), ("yes", "Removed: 1 "))


def install(visit: Visit) -> str:
    """README's steps, in a game that runs and has people in it."""
    visit.answers = visit.probe()
    steps = read_install_steps()
    for step in steps:
        if step.file:
            visit.kept[step.file] = (visit.game.folder / step.file).read_text()
        follow_on_disk(visit.game, step)
    visit.reload()
    for step in steps:
        follow_in_game(visit.owner, step)
    visit.owner.expect(r"Edda\b.*\bawake", 60)
    visit.kind.settle(visit.owner)
    return WORKS


def whisper(visit: Visit) -> str:
    """A whisper is answered by a whisper."""
    visit.whisper(visit.tom, "is this seat taken?")
    return WORKS


def say(visit: Visit) -> str:
    """Its name in what is said is answered aloud; talk without it is not."""
    speech, calls = visit.kind.speech, visit.model.count_calls()
    words = speech.say.partition(" ")[2].format("good evening")
    visit.tom.send("say what a quiet evening")
    visit.tom.ask(
        speech.say.format("good evening"), speech.said.format(re.escape(compose_reply(words)))
    )
    assert calls + 1 == visit.model.count_calls()
    return WORKS


def page(visit: Visit) -> str:
    """A page is answered by a page."""
    speech = visit.kind.speech
    answer = re.escape(compose_reply("are you there?"))
    visit.tom.ask(speech.page.format("are you there?"), speech.paged.format(answer))
    return WORKS


def own(visit: Visit) -> str:
    """The part that only this game has."""
    return visit.kind.own(visit) if visit.kind.own else NOTHING


def fight_or_leave(visit: Visit) -> str:
    """A fight with it, or else: who asks leaves the game while it thinks."""
    if visit.kind.fight_or_leave:
        return visit.kind.fight_or_leave(visit)
    visit.leave_it_thinking(visit.tom, "will you wait for me?")
    visit.tom.send("quit")
    with pytest.raises(AssertionError, match="the server closed the telnet connection"):
        visit.tom.expect("nothing more comes")
    visit.model.release()
    visit.tom = visit.enter("Tom")
    visit.tom.expect(visit.whispered("will you wait for me?"))
    visit.expect_one_answer(visit.tom, "will you wait for me?")
    return "asker quits, comes back, is answered once"


def reload(visit: Visit) -> str:
    """A question from before a reload is answered after it, once."""
    visit.leave_it_thinking(visit.tom, "and over a reload?")
    visit.game.reload()
    visit.model.release()
    visit.tom.expect(visit.whispered("and over a reload?"), 60)
    visit.expect_one_answer(visit.tom, "and over a reload?")
    return WORKS


def uninstall(visit: Visit) -> str:
    """The assistant ended and README's lines taken out: the game is what it was."""
    for line, answer in GOODBYE:
        visit.owner.ask(line, answer)
    for name, text in visit.kept.items():
        (visit.game.folder / name).write_text(text)
    visit.reload()
    visit.expect_as_before()
    return WORKS


STEPS: Mapping[str, Step] = {
    "install": install,
    "whisper": whisper,
    "say its name": say,
    "page": page,
    "its own": own,
    "combat or leave": fight_or_leave,
    "reload": reload,
    "uninstall": uninstall,
}
