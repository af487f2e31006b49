"""The live page, the list of turns, and the page of one turn."""

import re
from typing import Any

from django.http import HttpResponse
from django.test.utils import override_settings
from django.utils.html import escape

from evennia_ai import emergency, operations
from evennia_ai.models import TracedMessage
from evennia_ai.operations.turns.recorded import Recorded
from evennia_ai.runtime.watching import FEED, ring_for
from evennia_ai.testing import calls
from evennia_ai.web.pages.turns import LEAST, NAMES, WIDTH, shown_turn
from tests.browser.cases import CASES
from tests.game.support import says, whispers
from tests.web.support import WebTest, text_of

SECRET = "the key is under the stone"
FOLLOWED = re.compile(r'sse-connect="([^"]+)"')


def html_of(response: HttpResponse) -> str:
    return response.content.decode()


class LiveTest(WebTest):
    def test_a_turn_as_it_was(self) -> None:
        self.ask("say Ada, hello there", calls("look"), says("Hello, all."))
        page = self.get("live", key="Ada")
        shown, sent = text_of(page), html_of(page)
        for text in (
            "hello there",
            "direct_address",
            "trust 0.",
            "1. model",
            "2. tool look",
            "4. tool say",
            "pending_event:",
            "descriptions of tools:",
            "Hello, all.",
            "it spoke",
            "free",
        ):
            assert text in shown, text
        assert 4 == sent.count("<rect ")
        assert "The steps over time; the table below has the same data" in sent

    def test_a_step_whose_price_is_not_known_is_not_called_free(self) -> None:
        self.ask("say Ada, hello there", calls("look"), says("Hello, all."))
        assert "nobody set" not in text_of(self.get("live", key="Ada"))
        first = self.ada_script.work.recorded.newest()[0].steps[0]
        first.is_priced = False
        rows = html_of(self.get("live", key="Ada"))
        assert (1, 1) == (rows.count("<td>at an unknown price"), rows.count("<td>free"))

    def test_it_follows_from_where_it_was_made(self) -> None:
        """The stream begins at the page's own mark, so that no change in between is missed."""
        mark = FEED.mark
        page = html_of(self.get("live", key="Ada"))
        assert [f"/ai-stream?assistant=Ada&amp;after={mark}"] == FOLLOWED.findall(page)
        assert 'id="fresh"' in page
        assert [f"/ai-stream?after={mark}"] == FOLLOWED.findall(html_of(self.get("now")))

    def test_private_words_are_masked_until_they_are_revealed(self) -> None:
        """A page that reveals them does not follow, because its renewal would mask them."""
        self.ask(f"whisper Ada = {SECRET}", whispers(f"Yes, {SECRET}."))
        for who in ("builder", "controller", "owner"):
            page = self.get("live", who=who, key="Ada")
            assert SECRET not in html_of(page)
            assert "its words are masked" in text_of(page)
        assert "Reveal" not in text_of(self.get("live", who="builder", key="Ada"))
        refused = self.post("live", {"reveal": "true"}, who="builder", key="Ada")
        assert (403, False) == (refused.status_code, SECRET in html_of(refused))
        revealed = html_of(self.post("live", {"reveal": "true"}, key="Ada"))
        assert SECRET in revealed
        assert [] == FOLLOWED.findall(revealed)

    def test_a_turn_that_goes_on(self) -> None:
        self.ask("say Ada, hello")
        shown = text_of(self.get("live", key="Ada"))
        assert "goes on" in shown
        assert "runs." in shown

    def test_stop_and_clear_stay_on_the_page(self) -> None:
        self.ask("say Ada, hello")
        shown = text_of(self.post("live-stop", {"reason": "it rants"}, key="Ada"))
        assert emergency.is_stopped(self.ada_script)
        for text in ("Live: Ada", "Ada is stopped.", "it rants", "broke off", "it was stopped"):
            assert text in shown, text
        assert "Live: Ada" in text_of(self.post("live-clear", key="Ada"))
        assert not emergency.is_stopped(self.ada_script)

    def test_nothing_yet(self) -> None:
        assert "Speak to it in the game" in text_of(self.get("live", key="Ada"))
        with override_settings(EVENNIA_AI_WEB_CONFIG={"recorded_turns": 0}):
            self.ada_script.work.recorded = ring_for("Ada")
        assert "recorded_turns" in text_of(self.get("live", key="Ada"))
        self.ada_script.work = None
        assert 200 == self.get("live", key="Ada").status_code

    def test_hostile_words_are_words(self) -> None:
        for case in (case for case in CASES if "<" in case.written):
            text = case.written
            self.ask("say Ada, look", says(text), calls("noop"), person=self.mira)
            self.model.answers.clear()
            row = self.ada_script.work.decisions.newest()[0]
            for page in (
                self.get("live", key="Ada"),
                self.get("turns", key="Ada", query={"words": text, "day": text}),
                self.get("turns", key="Ada"),
                self.get("turn", key="Ada", number=row.number),
            ):
                sent = html_of(page)
                assert text not in sent, case.name
                is_changed = case.shown or not text.isprintable()
                assert is_changed or escape(text)[:20] in sent, case.name


class TurnsTest(WebTest):
    def test_the_list_and_its_filter(self) -> None:
        self.ask("say Ada, where is the lamp?", says("There."))
        self.ask(f"whisper Ada = {SECRET}", whispers("Hello."))
        shown = text_of(self.get("turns", key="Ada"))
        assert shown.index("private, words not kept") < shown.index("where is the lamp?")
        text = text_of(self.get("turns", key="Ada", query={"words": "lamp"}))
        assert "There." in text
        assert "whisper" not in text
        nothing = text_of(self.get("turns", key="Ada", query={"outcome": "failed"}))
        assert "There is no such turn" in nothing

    def test_the_list_follows_and_what_is_typed_stays(self) -> None:
        """Only the list is renewed; older pages and revealed ones do not follow."""
        self.ask("say Ada, where is the lamp?", says("There."))
        mark = FEED.mark
        page = html_of(self.get("turns", key="Ada", query={"words": "lamp"}))
        assert [f"/ai-stream?assistant=Ada&amp;after={mark}"] == FOLLOWED.findall(page)
        assert "?words=lamp" in page.partition('hx-get="')[2].partition('"')[0]
        before, _, fresh = page.partition('id="fresh"')
        assert 'name="words"' in before
        assert "<input" not in fresh
        assert "where is the lamp?" in fresh
        older = self.get("turns", key="Ada", query={"before": "1000"})
        assert [] == FOLLOWED.findall(html_of(older))
        assert [] == FOLLOWED.findall(html_of(self.post("turns", {"reveal": "yes"}, key="Ada")))

    def test_what_makes_no_sense_is_said_and_kept(self) -> None:
        page = self.get("turns", key="Ada", query={"day": "some time", "words": "lamp"})
        assert 400 == page.status_code
        assert "'some time' is not a time" in text_of(page)
        assert 'value="some time"' in html_of(page)
        assert 'value="lamp"' in html_of(page)
        assert 200 == self.get("turns", key="Ada", query={"before": "²"}).status_code

    def test_the_dearest_first(self) -> None:
        for number, nano in ((1, 5), (2, 70_000_000), (3, 900)):
            self.ask(f"say Ada, line {number}", says("Yes."))
            row = TracedMessage.objects.latest("pk")
            row.facts = {**row.facts, "cost_nano": nano}
            row.save()
        shown = text_of(self.get("turns", query={"order": "cost"}, key="Ada"))
        places = [shown.index(f"line {number}") for number in (2, 3, 1)]
        assert "Most expensive first" in shown
        assert sorted(places) == places

    def test_older_ones_are_a_link_away(self) -> None:
        for number in range(22):
            self.ask(f"say Ada, lamp {number}", says("There."))
            self.advance(60)
        page = html_of(self.get("turns", key="Ada", query={"words": "lamp"}))
        (older,) = re.findall(r'\?(words=lamp&amp;before=\d+)"', page)
        query = dict(pair.split("=") for pair in older.split("&amp;"))
        shown = text_of(self.get("turns", key="Ada", query=query))
        assert "lamp 0" in shown
        assert "lamp 21" not in shown
        assert "The newest" in shown

    @override_settings(EVENNIA_AI_TRACE_CONFIG={"keep_days": 0})
    def test_without_a_trace(self) -> None:
        page = self.get("turns", key="Ada")
        assert 200 == page.status_code
        assert "keeps no trace" in text_of(page)

    def test_one_in_full(self) -> None:
        self.type(self.mira, "say It rains.")
        self.ask("say Ada, where is the lamp?", says("There."))
        number = self.ada_script.work.decisions.newest()[0].number
        shown = text_of(self.get("turn", key="Ada", number=number))
        for text in ("rule", "known by", "It rains.", "this one", "There.", "1. model"):
            assert text in shown, text
        self.ada_script.work.recorded.forget()
        shown = text_of(self.get("turn", key="Ada", number=number))
        assert "no longer in memory" in shown
        missing = self.get("turn", key="Ada", number=999)
        assert (404, True) == (missing.status_code, "no message 999" in text_of(missing))

    def test_a_turn_of_its_own(self) -> None:
        """A turn without a message is found by its tick while it is in memory."""
        self.ada_script.db.autonomy_config = {"seconds": 10, "acts_per_hour": 4}
        assert operations.add_goal(self.ada_script, "sing a song").ok
        self.model.answers.append(calls("noop"))
        for _ in range(2):
            self.ada_script.at_repeat()
            self.advance(10)
        tick = self.ada_script.work.recorded.newest()[0].turn.tick
        assert f"/turns/0/?tick={tick}" in html_of(self.get("live", key="Ada"))
        page = self.get("turn", key="Ada", number=0, query={"tick": str(tick)})
        assert "1. model" in text_of(page)
        assert f"?tick={tick}" in html_of(page).partition("reveal")[0]
        assert 404 == self.get("turn", key="Ada", number=0, query={"tick": "x"}).status_code

    def test_private_words_of_one(self) -> None:
        self.ask(f"whisper Ada = {SECRET}", whispers(f"Yes, {SECRET}."))
        number = self.ada_script.work.decisions.newest()[0].number
        assert SECRET not in html_of(self.get("turn", key="Ada", number=number))
        revealed = self.post("turn", {"reveal": "true"}, key="Ada", number=number)
        assert SECRET in html_of(revealed)


def test_bars_stay_within_the_drawing() -> None:
    step: Any = {"kind": "tool", "name": "look", "state": "worked"}
    step |= {"cost_nano": 0, "is_priced": True}
    steps = [{**step, "begin": b, "seconds": s} for b, s in ((0.0, 0.0), (2.0, 9.0), (4.0, 0.0))]
    turn: Any = {
        **dict.fromkeys(("heard", "limits"), ()),
        "tick": 1,
        "at": "",
        "state": "answered",
        "seconds": 4.0,
        "steps": steps,
        "cost_nano": 0,
        "unpriced_calls": 0,
    }
    row: Recorded = turn
    bars = shown_turn(row)["bars"]
    assert all(LEAST <= bar.width and NAMES <= bar.x < bar.x + bar.width <= WIDTH for bar in bars)
