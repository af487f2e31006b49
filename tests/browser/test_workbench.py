"""The workbench in a real browser: accessibility, hostile texts, and every button."""

import itertools
from collections.abc import Iterator, Sequence

import pytest

from evennia_ai.core.cards.character_card import as_json, new_card
from tests.browser.cases import CASES
from tests.browser.devtools import Browser
from tests.browser.equipment import Equipment
from tests.browser.tab import Tab
from tests.browser.ways import ACTS, ARRANGE, HOME
from tests.browser.workbench import NARROW, WIDE, Workbench
from tests.fakes.handle import FakeModel
from tests.journeys.clients import Enter, Player
from tests.journeys.game import Game
from tests.journeys.staging import run
from tests.profiles import IS_THOROUGH

ASK_FIRST = {"tick_event": {"dangerous_requires_confirm": True}}
# The most characters of all texts together that go into one field.
MOST = 600
LOOKS = ((WIDE, "light"), (NARROW, "dark"))


@pytest.fixture(scope="module")
def staff(browser: Browser, equipment: Equipment, game: Game) -> Iterator[Workbench]:
    bench = Workbench(Tab(browser, equipment), equipment, game.ports.web)
    bench.log_in()
    yield bench
    bench.tab.close()


@pytest.fixture
def bench(staff: Workbench) -> Iterator[Workbench]:
    """The workbench, on whose pages nothing may happen that no text may cause."""
    staff.tab.take_incidents()
    yield staff
    assert [] == staff.take_incidents()


def arrange(
    bench: Workbench, admin: Player, model: FakeModel, enter: Enter, texts: Sequence[str]
) -> dict[str, str]:
    """Put texts wherever a page can show some; returns the values for `Way.named`."""
    text = " ".join(texts)[:MOST]
    with enter("Tom") as tom:
        model.queue({"calls": [{"tool": "say", "arguments": {"message": text}}]})
        tom.ask("say ada, what broke the stair?", "Ada says")
    memory, lore = run(admin, ARRANGE.format(texts=list(texts), most=MOST)).split()
    card = as_json(new_card(name="Edda", description=text, system_prompt=text)).decode()
    turn = bench.newest_turn()
    return {"text": text, "memory": memory, "lore": lore, "card": card, "turn": turn}


@pytest.fixture
def names(bench: Workbench, admin: Player, model: FakeModel, enter: Enter) -> dict[str, str]:
    """The values for `Way.named`, with harmless text."""
    return arrange(bench, admin, model, enter, ["The storm of 1888 broke the third stair."])


def test_everybody_can_use_every_page(bench: Workbench, names: dict[str, str]) -> None:
    """On a screen or a dark phone, in turns, axe finds no violation and nothing overflows.

    All pages have one frame and one style; in the thorough run each has both looks.
    """
    problems = {}
    for way, look in zip(bench.ways(names), itertools.cycle(LOOKS), strict=False):
        for size, scheme in LOOKS if IS_THOROUGH else (look,):
            with bench.seen_as(size, scheme):
                bench.go(way)
                wrong = [*bench.barriers(), *bench.overflow()]
            if wrong:
                problems[way.title, size, scheme] = wrong
    assert {} == problems


def test_every_page_is_worked_by_the_keyboard(bench: Workbench, names: dict[str, str]) -> None:
    problems = {}
    for way in bench.ways(names):
        bench.go(way)
        if missed := bench.unreached():
            problems[way.title] = missed
    assert {} == problems


def test_hostile_texts_do_nothing_on_any_page(
    bench: Workbench, admin: Player, model: FakeModel, enter: Enter
) -> None:
    names = arrange(bench, admin, model, enter, [case.written for case in CASES])
    for way in bench.ways(names):
        bench.go(way)


def test_a_stop_from_the_page_drops_the_answer_in_flight(
    bench: Workbench, model: FakeModel, enter: Enter
) -> None:
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
        assert "There are no questions for you." in bench.words


def test_whatever_is_done_on_a_page_is_done_by_the_keyboard(
    bench: Workbench, names: dict[str, str]
) -> None:
    wrong = []
    for way in ACTS:
        try:
            bench.go(way.named(names))
        except AssertionError as error:
            wrong.append(f"{way.title}: {error}")
    assert [] == wrong
