"""Nothing an assistant says becomes a link or a tag in the webclient."""

import itertools
import json
import unicodedata
from collections.abc import Sequence
from urllib.parse import urlsplit

import pytest

from tests.browser.cases import CASES, REPEATED, ROUTES, Case, Route
from tests.browser.conftest import OpenTab
from tests.browser.equipment import SERVED
from tests.browser.webclient import BrowserPlayer, Message
from tests.fakes.handle import FakeModel
from tests.journeys.clients import Enter, Player
from tests.journeys.game import ADMIN_NAME, ADMIN_PASSWORD, Game
from tests.journeys.lines import ADA

FONTS = "fonts.googleapis.com"
ASK = "whisper ada = go on"
HOSTILE = "<b>bold</b> |lclook|ltme|le {{x}} $You() http://evil.example"
every_route = pytest.mark.parametrize("route", ROUTES, ids=[route.name for route in ROUTES])
# Each text by one way, each way by several: also run on the other Evennia.
ONE_WAY = [(case, ROUTES[number % len(ROUTES)]) for number, case in enumerate(CASES)]
OTHER_WAYS = [pair for pair in itertools.product(CASES, ROUTES) if pair not in ONE_WAY]


def by_ways(pairs: Sequence[tuple[Case, Route]]) -> pytest.MarkDecorator:
    names = [f"{case.name}-{route.name}" for case, route in pairs]
    return pytest.mark.parametrize(("case", "route"), pairs, ids=names)


def read_visibly(text: str) -> str:
    """The text without its characters of no width."""
    return "".join(ch for ch in text if unicodedata.category(ch) != "Cf")


def hear(player: BrowserPlayer, begins: str) -> Message:
    """The next message that begins like this; a line that shows Ada thinking does not count."""

    def is_wanted(message: Message) -> bool:
        return message.text.startswith(begins) and message.text not in ADA.thinking

    return player.wait_for_message(is_wanted)


def hear_written(mira: BrowserPlayer, model: FakeModel, route: Route, written: str) -> Message:
    """Have the model write a text one way, and return the message on Mira's page."""
    model.queue(route.behave(written))
    mira.send(ASK)
    return hear(mira, route.begins)


def is_shown_as_text(mira: BrowserPlayer, model: FakeModel, case: Case, route: Route) -> None:
    """Check that a text is shown letter for letter in one line, without elements or attributes."""
    message = hear_written(mira, model, route, case.written)
    assert read_visibly(route.frame(case.expected)) == read_visibly(message.text)
    assert [] == message.oddities


@by_ways(ONE_WAY)
def test_hostile_text_is_shown_as_text(
    mira: BrowserPlayer, model: FakeModel, case: Case, route: Route
) -> None:
    is_shown_as_text(mira, model, case, route)


@by_ways(OTHER_WAYS)
def test_hostile_text_is_text_in_every_way(
    mira: BrowserPlayer, model: FakeModel, case: Case, route: Route
) -> None:
    is_shown_as_text(mira, model, case, route)


@every_route
def test_a_click_on_it_does_nothing(mira: BrowserPlayer, model: FakeModel, route: Route) -> None:
    """A click on text that looks like a link opens no page and sends no command."""
    written = "|lcsay clicked|ltpress me|le www.evil.com <a href=/x>http://evil.example</a>"
    hear_written(mira, model, route, written)
    mira.click_last_message()
    mira.ask("say after the click", "You say, .after the click")
    assert 0 == mira.count('You say, "clicked"')


@every_route
def test_five_thousand_characters_are_cut(
    mira: BrowserPlayer, model: FakeModel, route: Route
) -> None:
    """A flood is one message of bounded length, with and without spaces to cut at."""
    for flood in ("<b>x</b> www.evil.com " * 240, "http://evil.example/" + "x" * 5000):
        message = hear_written(mira, model, route, flood)
        words = read_visibly(message.text).removeprefix(route.begins).removesuffix(route.ends)
        assert route.most_characters // 3 <= len(words) <= route.most_characters
        assert [] == message.oddities


def test_an_answer_without_a_tool_call_is_text(mira: BrowserPlayer, model: FakeModel) -> None:
    model.queue({"content": HOSTILE})
    mira.send(ASK)
    message = hear(mira, 'Ada whispers: "')
    assert f'Ada whispers: "{HOSTILE}"' == read_visibly(message.text)
    assert [] == message.oddities


def test_a_call_told_as_text_is_run_as_a_call(mira: BrowserPlayer, model: FakeModel) -> None:
    text = json.dumps({"tool": "say", "parameters": {"message": HOSTILE}})
    model.queue({"content": f"<think>I'll shout</think>```json\n{text}\n```"})
    mira.send(ASK)
    message = hear(mira, "Ada ")
    assert f'Ada says, "{HOSTILE}"' == read_visibly(message.text)
    assert [] == message.oddities


@pytest.mark.parametrize("case", REPEATED, ids=[case.name for case in REPEATED])
def test_what_a_player_has_it_repeat_is_text(mira: BrowserPlayer, enter: Enter, case: Case) -> None:
    """A player cannot inject markup into another's page through an assistant that repeats it."""
    tom = enter("Tom")
    tom.send(f"say @ada {case.written}")
    message = hear(mira, 'Ada says, "')
    assert f'Ada says, "I heard: {case.expected}"' == read_visibly(message.text)
    assert [] == message.oddities


def test_what_staff_are_told_is_text(
    mira: BrowserPlayer, model: FakeModel, game: Game, open_tab: OpenTab
) -> None:
    """A failure's cause, in the endpoint's own words, injects nothing into the page of staff."""
    with BrowserPlayer(open_tab(), game.ports.web) as admin:
        admin.expect(r"\bconnect\b")
        admin.log_in(ADMIN_NAME, ADMIN_PASSWORD)
        admin.tab.take_incidents()
        answer = json.dumps({"error": {"message": f"{HOSTILE} \x1b[31m<img src=x>"}})
        model.queue({"kind": "status", "status": 400, "body": answer})
        mira.send(ASK)
        message = hear(admin, "[assistant] ")
        assert f"{HOSTILE} <img src=x>" in read_visibly(message.text)
        assert [] == message.oddities
        assert [] == admin.tab.take_incidents()
    hear(mira, "Ada ")


def test_links_of_others_are_found(mira: BrowserPlayer, admin: Player) -> None:
    """The control: the page does make links of other text, and the checks above find them."""
    # Evennia strips such marks from typed text, but not from text that code makes.
    admin.send("py self.location.msg_contents('Click ~lcsay clicked~ltme~le'.replace('~', '|'))")
    message = hear(mira, "Click me")
    assert "<a>" in message.oddities
    assert any(oddity.startswith("onclick=") for oddity in message.oddities)
    mira.click_last_message()
    mira.expect('You say, "clicked"')
    for address in ("http://evil.example/x", "www.evil.com"):
        admin.send(f"say see {address}")
        assert "<a>" in hear(mira, "admin says").oddities


def test_the_page_loads_nothing_from_elsewhere(mira: BrowserPlayer) -> None:
    """Every library comes from a file; only fonts, which the page does not need, are refused."""
    served = {urlsplit(url).path for url in mira.tab.served}
    assert len(SERVED) == len(served)
    assert {urlsplit(url).hostname for url in mira.tab.refused} <= {FONTS}
