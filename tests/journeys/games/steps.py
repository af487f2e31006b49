"""The steps of every game of the matrix, in order: installed, talked to, taken out again."""

import re
from collections.abc import Mapping

import pytest

from tests.fakes.answers import compose_reply
from tests.journeys.games.visit import WORKS, Step, Visit
from tests.journeys.test_install import follow_in_game, follow_on_disk, read_install_steps

NOTHING = ""
# The owner's lines before README's lines are taken out, with their answers.
GOODBYE = (("assistant remove all", "Remove all assistants"), ("yes", "Removed: 1 "))


def install(visit: Visit) -> str:
    """Follow README's steps in a running game with players in it."""
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
    visit.whisper(visit.tom, "is this seat taken?")
    return WORKS


def say(visit: Visit) -> str:
    """Speech with its name is answered aloud; other speech is not."""
    speech, calls = visit.kind.speech, visit.model.count_calls()
    words = speech.say.partition(" ")[2].format("good evening")
    visit.tom.send("say what a quiet evening")
    visit.tom.ask(
        speech.say.format("good evening"), speech.said.format(re.escape(compose_reply(words)))
    )
    assert calls + 1 == visit.model.count_calls()
    return WORKS


def page(visit: Visit) -> str:
    speech = visit.kind.speech
    answer = re.escape(compose_reply("are you there?"))
    visit.tom.ask(speech.page.format("are you there?"), speech.paged.format(answer))
    return WORKS


def own(visit: Visit) -> str:
    """Play the part that only this game has."""
    return visit.kind.own(visit) if visit.kind.own else NOTHING


def fight_or_leave(visit: Visit) -> str:
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
    """A question from before a reload is answered once, after it."""
    visit.leave_it_thinking(visit.tom, "and over a reload?")
    visit.game.reload()
    visit.model.release()
    visit.tom.expect(visit.whispered("and over a reload?"), 60)
    visit.expect_one_answer(visit.tom, "and over a reload?")
    return WORKS


def uninstall(visit: Visit) -> str:
    """Remove the assistant and README's lines: the game is as it was."""
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
