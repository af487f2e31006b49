"""The workbench follows a running game, also over a reload of the page or of the game."""

from collections.abc import Iterator
from time import monotonic, sleep
from typing import Any

import pytest

from tests.browser.cases import CASES
from tests.browser.devtools import Browser
from tests.browser.equipment import Equipment
from tests.browser.tab import Tab
from tests.browser.ways import ADA, HOME
from tests.browser.workbench import NARROW, SCHEMES, WIDE, Workbench
from tests.fakes.handle import FakeModel
from tests.journeys.clients import Enter
from tests.journeys.game import Game

WAIT_MS = 30_000
WAIT_FOR = """
(words, wait) => new Promise(resolve => {
    const look = () => words.every(each => document.body.innerText.includes(each));
    const end = found => { clearInterval(timer); clearTimeout(last); resolve(found); };
    const timer = setInterval(() => { if (look()) end(true); }, 10);
    const last = setTimeout(() => end(false), wait);
})
"""
MARK = "() => { window.isTheSame = true; }"
IS_MARKED = "() => window.isTheSame === true"
OPEN_FIRST = """
() => {
    const step = document.querySelector("#fresh details");
    step.open = true;
    return step.id;
}
"""
AGE = "() => { document.querySelector('#fresh').dataset.isOld = 'yes'; }"
IS_ANEW = """
wait => new Promise(resolve => {
    const end = found => { clearInterval(timer); clearTimeout(last); resolve(found); };
    const look = () => !document.querySelector("#fresh").dataset.isOld;
    const timer = setInterval(() => { if (look()) end(true); }, 10);
    const last = setTimeout(() => end(false), wait);
})
"""
LOSE_THE_NETWORK = """
() => {
    const send = XMLHttpRequest.prototype.send;
    window.lost = 0;
    XMLHttpRequest.prototype.send = function (body) {
        if (window.isBack) { send.call(this, body); return; }
        window.lost += 1;
        setTimeout(() => this.dispatchEvent(new ProgressEvent("error")));
    };
}
"""
GET_IT_BACK = "() => { window.isBack = true; return window.lost; }"
OPEN_ALL = "() => document.querySelectorAll('details').forEach(each => { each.open = true; })"
IS_OPEN = "id => document.getElementById(id).open"


class Page:
    """A page of the workbench, marked so that a test sees whether it was loaded again."""

    def __init__(self, bench: Workbench, path: str) -> None:
        self.bench, self.tab, self._path = bench, bench.tab, path
        self.open()

    def open(self) -> None:
        """Open the page, or load it again."""
        self.bench.visit(self._path)
        self.tab.run(MARK)

    def wait_for(self, *words: str) -> None:
        found = self.tab.run(WAIT_FOR, words, WAIT_MS, timeout_seconds=WAIT_MS / 1000 + 10)
        assert found, (words, self.bench.words)

    @property
    def is_the_same(self) -> bool:
        """True unless the page was loaded again since it was opened."""
        return bool(self.tab.run(IS_MARKED))


@pytest.fixture(scope="module")
def bench(browser: Browser, equipment: Equipment, game: Game) -> Iterator[Workbench]:
    bench = Workbench(Tab(browser, equipment), equipment, game.ports.web)
    bench.log_in()
    yield bench
    bench.tab.close()


@pytest.fixture
def live(bench: Workbench, model: FakeModel) -> Iterator[Page]:
    """The page of Ada; nothing may happen on it that no text may cause."""
    bench.tab.take_incidents()
    yield Page(bench, ADA)
    assert [] == bench.take_incidents()


def says(words: str, **more: Any) -> dict[str, Any]:
    return {"calls": [{"tool": "say", "arguments": {"message": words}}], **more}


def test_a_turn_is_on_the_page_as_it_happens(live: Page, model: FakeModel, enter: Enter) -> None:
    """The turn is shown while the model is awaited and after its answer, without a page load."""
    tom = enter("Tom")
    model.queue(says("The lamp is here.", delay_seconds=2.0))
    began = monotonic()
    tom.send("say ada, where is the lamp?")
    live.wait_for("goes on", "where is the lamp?", "runs.")
    seen = monotonic() - began
    tom.expect("The lamp is here")
    answered = monotonic()
    live.wait_for("answered", "tool say")
    end = monotonic() - answered
    print(f"\na turn is on the page after {seen:.2f} s, its end {end:.2f} s after it was heard")
    assert live.is_the_same


def test_what_was_opened_stays_open(live: Page, model: FakeModel, enter: Enter) -> None:
    """Details that somebody reads stay open when the list is rendered again."""
    tom = enter("Tom")
    model.queue(says("One."))
    tom.ask("say ada, count", "One.")
    live.wait_for("count", "answered", "tool say")
    sleep(1)  # until the changes of the turn's end are on the page too
    opened = live.tab.run(OPEN_FIRST)
    live.tab.run(AGE)
    tom.ask("hush ada", "Ada")
    assert live.tab.run(IS_ANEW, WAIT_MS, timeout_seconds=WAIT_MS / 1000 + 10)
    assert live.tab.run(IS_OPEN, opened)
    tom.ask("unhush ada", "Ada")


def test_a_page_that_is_loaded_again_misses_nothing(
    live: Page, model: FakeModel, enter: Enter
) -> None:
    """Loaded again in the middle of a turn, the page shows it running and then its end."""
    tom = enter("Tom")
    model.queue(says("I looked it up.", delay_seconds=3.0))
    tom.send("say ada, what is a moth?")
    live.wait_for("what is a moth?", "runs.")
    live.open()
    live.wait_for("what is a moth?", "runs.")
    tom.expect("I looked it up")
    live.wait_for("answered", "tool say")
    assert live.is_the_same


def test_a_game_that_is_reloaded_is_followed_on(
    live: Page, model: FakeModel, enter: Enter, game: Game
) -> None:
    """The page reconnects by itself, and shows the turn that the new server finishes."""
    tom = enter("Tom")
    model.queue({"kind": "hang"}, says("After all."))
    tom.send("say ada, are you there?")
    live.wait_for("are you there?", "runs.")
    game.reload()
    model.release()
    tom.expect("After all")
    answered = monotonic()
    live.wait_for("answered", "tool say")
    print(f"\nafter a reload of the game the page was there {monotonic() - answered:.2f} s later")
    assert live.is_the_same


def test_what_could_not_be_fetched_is_fetched_later(
    live: Page, model: FakeModel, enter: Enter
) -> None:
    """The stream tells of a change once; while the network is away, nothing shows it."""
    tom = enter("Tom")
    live.tab.run(LOSE_THE_NETWORK)
    model.queue(says("The net is torn."))
    tom.ask("say ada, what of the net?", "The net is torn")
    sleep(1.5)  # until all changes of the turn are told
    assert live.tab.run(GET_IT_BACK)
    live.wait_for("what of the net?", "answered")
    assert live.is_the_same


def test_the_first_page_follows_too(bench: Workbench, model: FakeModel, enter: Enter) -> None:
    now = Page(bench, HOME)
    tom = enter("Tom")
    model.queue(says("The moths sleep."))
    tom.ask("say ada, what of the moths?", "The moths sleep")
    now.wait_for("what of the moths?")
    assert now.is_the_same


def test_everybody_can_use_a_page_with_turns(live: Page, model: FakeModel, enter: Enter) -> None:
    tom = enter("Tom")
    model.queue({"calls": [{"tool": "look", "arguments": {}}]}, says("The sea is calm."))
    tom.ask("say ada, what of the sea?", "The sea is calm")
    live.wait_for("what of the sea?", "answered", "tool look")
    number = live.tab.run("() => document.querySelector('#fresh h2 a').getAttribute('href')")
    problems = {}
    for path in (ADA, f"{ADA}turns/", number):
        for size in (WIDE, NARROW):
            for scheme in SCHEMES:
                with live.bench.seen_as(size, scheme):
                    live.bench.visit(path)
                    live.tab.run(OPEN_ALL)
                    wrong = [*live.bench.barriers(), *live.bench.overflow()]
                problems |= {(path, size, scheme): wrong} if wrong else {}
        live.bench.visit(path)
        problems |= {path: missed} if (missed := live.bench.unreached()) else {}
    assert {} == problems


def test_hostile_words_do_nothing(live: Page, model: FakeModel, enter: Enter) -> None:
    tom = enter("Tom")
    for number, case in enumerate(case for case in CASES if "scriptRan" in case.written):
        model.queue(says(f"{case.written} case {number}."))
        tom.ask(f"say ada, go on {number}", f"go on {number}")
        live.wait_for(f"go on {number}", "answered")
    assert live.is_the_same


def test_pages_that_were_left_leave_nothing_in_the_log(live: Page, game: Game) -> None:
    """The streams of pages that were left end without an error, at a reload at the latest."""
    game.reload()
    live.wait_for("workbench")
    log = next(path for path in game.logs if path.name == "portal.log")
    assert "Request.finish" not in log.read_text("utf-8", "replace")
