"""The workbench in a real browser: who can use it, what a hostile text does in it, what it does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser.cases import CASES
from tests.browser.devtools import Browser
from tests.browser.equipment import Equipment
from tests.browser.tab import Tab
from tests.browser.workbench import HOME, NARROW, SCHEMES, WIDE, Workbench
from tests.fakes.handle import FakeModel
from tests.journeys.clients import Enter, Player
from tests.journeys.game import Game
from tests.journeys.staging import run

ASK_FIRST = {"tick_event": {"dangerous_requires_confirm": True}}
PLANT = """
from evennia_ai import audit
for text in {texts!r}:
    operations.add_memory(ada, text, tags=[text[:20]], by=text)
    operations.add_lore(text, keywords=['storm'], by=text)
    operations.add_goal(ada, text)
    audit.record('words_revealed', ada, by=text, kind=text, person=text, count=1)
ada.db.persona = ' '.join({texts!r})
ada.obj.db.desc = ada.db.persona
told = 'planted'
"""


@pytest.fixture(scope="module")
def staff(browser: Browser, equipment: Equipment, game: Game) -> Iterator[Workbench]:
    """The game's owner at the workbench."""
    bench = Workbench(Tab(browser, equipment), equipment, game.ports.web)
    bench.log_in()
    yield bench
    bench.tab.close()


@pytest.fixture
def bench(staff: Workbench) -> Iterator[Workbench]:
    """The same, on whose pages nothing happens that no text may bring about."""
    staff.tab.take_incidents()
    yield staff
    left = [each for each in staff.tab.take_incidents() if f"{HOME}" not in each]
    assert [] == left


def test_everybody_can_use_every_page(bench: Workbench) -> None:
    """Light and dark, on a screen and on a phone: axe finds nothing, and nothing sticks out."""
    found = {}
    for title, path in bench.pages("Ada").items():
        for size in (WIDE, NARROW):
            for scheme in SCHEMES:
                with bench.seen_as(size, scheme):
                    bench.visit(path)
                    wrong = [*bench.barriers(), *bench.overflow()]
                if wrong:
                    found[title, size, scheme] = wrong
    assert {} == found


def test_every_page_is_worked_by_the_keyboard(bench: Workbench) -> None:
    """The Tab key comes to all that can be worked with, on every page."""
    found = {}
    for title, path in bench.pages("Ada").items():
        bench.visit(path)
        if missed := bench.unreached():
            found[title] = missed
    assert {} == found


def test_hostile_texts_do_nothing_on_any_page(bench: Workbench, admin: Player) -> None:
    """Whatever players and models write is read as it is written, and runs nothing."""
    run(admin, PLANT.format(texts=[case.written for case in CASES]))
    for path in bench.pages("Ada").values():
        bench.visit(path)


def test_a_stop_from_the_page_drops_the_answer_in_flight(
    bench: Workbench, model: FakeModel, enter: Enter
) -> None:
    """The call's connection is closed, the page says so, and a clear lets her answer again."""
    with enter("Tom") as tom:
        model.queue({"kind": "hang"})
        tom.send("whisper ada = are you there?")
        model.wait_for_calls(1)
        bench.visit(HOME)
        bench.press("Stop Ada")
        assert "Ada is stopped." in bench.words
        model.wait_for_calls(1, closed=1)
        bench.press("Clear Ada")
        answer = {"target": "Tom", "message": "Yes."}
        model.queue({"calls": [{"tool": "whisper", "arguments": answer}]})
        tom.ask("whisper ada = and now?", "Ada whispers: .Yes.")


def test_a_question_answered_on_the_page_goes_on_in_the_game(
    bench: Workbench, admin: Player, model: FakeModel, enter: Enter
) -> None:
    """A yes of the page is the yes that she waits for: she does it, and says so to who asked."""
    run(admin, f"ada.db.context_configs = {ASK_FIRST!r}\nada.db.confirm_by = 'staff'")
    done = {"tool": "whisper", "arguments": {"target": "Tom", "message": "It burns."}}
    with enter("Tom") as tom:
        wanted = {"tool": "get", "arguments": {"item": "lamp"}}
        asked = {"tool": "whisper", "arguments": {"target": "Tom", "message": "I have to ask."}}
        model.queue({"calls": [wanted]}, {"calls": [asked]}, {"calls": [done]})
        tom.ask("whisper ada = take the lamp", 'Ada whispers: "I have to ask')
        bench.visit(f"{HOME}questions/")
        assert "Ada asks" in bench.words
        bench.press("yes", f"{HOME}questions/")
        tom.expect('Ada whispers: "It burns')
        assert "Nobody asks you anything." in bench.words
