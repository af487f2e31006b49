"""The page of the test bench."""

import re
from typing import Any

from django.http import HttpResponse
from django.test.utils import override_settings
from evennia.utils import create

from evennia_ai import operations
from evennia_ai.operations.dry_runs.changes import texts_of
from evennia_ai.runtime import state
from tests.browser.cases import CASES
from tests.game.support import calls, whispers
from tests.web.support import WebTest, text_of

TAGS = re.compile(r"<(\w+)")


class BenchPageTest(WebTest):
    """Berit, who controls Ada, tries messages."""

    def attempt(self, *answers: bytes, who: str = "controller", **form: str) -> HttpResponse:
        self.model.answers.extend(answers)
        given: dict[str, Any] = {"words": "hello", "way": "whisper", **form}
        return self.post("bench", given, who=who, key="Ada")

    def test_the_form(self) -> None:
        shown = text_of(self.get("bench", key="Ada"))
        for text in ("Nobody hears the answer", "of 200,000 tokens today", "From", "Try it"):
            assert text in shown
        assert "The result" not in shown
        with override_settings(TIME_ZONE="Europe/Berlin"):
            assert "17:00 (Europe/Berlin)" in text_of(self.get("bench", key="Ada"))

    def test_an_answer(self) -> None:
        shown = text_of(self.attempt(calls("look"), whispers("Well met.", "Berit")))
        for text in (
            "Would whisper (target: Berit)",
            "Well met.",
            "direct_message",
            "scripted",
            "2 calls",
            "character_context",
            "as it is now",
        ):
            assert text in shown
        assert [] == self.heard(self.tom)

    def test_what_was_typed_is_kept(self) -> None:
        response = self.attempt(person="Nobody at all", words="my <b>own</b> words")
        assert 404 == response.status_code
        body = response.content.decode()
        assert "Nobody is named Nobody at all" in text_of(response)
        assert "my &lt;b&gt;own&lt;/b&gt; words</textarea>" in body
        assert 'value="Nobody at all"' in body

    def test_another_text_beside_it(self) -> None:
        """Both answers are shown side by side, and the stored prompt is unchanged."""
        part = texts_of(self.ada_script).data[0]
        state.write(self.ada_script, persona="You are Ada, a librarian.")
        fetched = self.attempt(part=part.part, load="true").content.decode()
        assert "You are Ada, a librarian.</textarea>" in fetched
        assert [] == self.model.bodies
        shown = text_of(
            self.attempt(
                whispers("Hush.", "Berit"),
                whispers("Arr.", "Berit"),
                part=part.part,
                text="You are Ada,\r\na pirate.",
            )
        )
        assert re.search(r"as it is now.*Hush\..*with another persona.*Arr\.", shown)
        assert "You are Ada,\\na pirate." in str(self.model.bodies[1])
        assert "You are Ada, a librarian." == state.read(self.ada_script, "persona")

    def test_as_a_stranger_and_revealed(self) -> None:
        shown = text_of(self.attempt(whispers("Hello.", "Tom"), person="Tom"))
        assert "Nothing private to them is included" in shown
        shown = text_of(self.attempt(whispers("Hello.", "Tom"), person="Tom", reveal="true"))
        assert "Nothing private to them is included" not in shown

    def test_whoever_may_only_look_tries_nothing(self) -> None:
        assert 403 == self.attempt(whispers("never"), who="builder").status_code
        assert [] == self.model.bodies

    def test_a_player_who_may_run_her_sees_no_prompt(self) -> None:
        """Control by a lock of the body alone opens neither the page nor its menu entry."""
        pia = self.people["player"]
        self.ada.locks.add(f"ai_control:perm(Admin) or pid({pia.id}) or id({pia.id})")
        for given in ({}, {"reveal": "true"}, {"moment": "1 hour ago"}, {"part": "persona"}):
            assert 403 == self.attempt(whispers("never"), who="player", **given).status_code
        assert 403 == self.get("bench", who="player", key="Ada").status_code
        assert [] == self.model.bodies
        address = self.address("bench", key="Ada")
        assert address in self.get("settings", key="Ada").content.decode()
        assert address not in self.get("mine", who="player").content.decode()

    def test_as_oneself_without_being_in_the_game(self) -> None:
        """The last character of an offline account still counts as oneself."""
        berit = self.people["controller"]
        body = create.create_object("evennia.objects.objects.DefaultCharacter", "Berit's body")
        berit.db._last_puppet = body
        shown = text_of(self.attempt(whispers("Well met.", "Berit's body")))
        assert "from Berit's body" in shown
        assert "Nothing private to them is included" not in shown

    def test_a_stopped_one(self) -> None:
        operations.stop(self.ada_script, "enough")
        assert "nothing is sent to its model" in text_of(self.get("bench", key="Ada"))
        response = self.attempt()
        assert 409 == response.status_code
        assert [] == self.model.bodies

    def test_hostile_texts_come_out_escaped(self) -> None:
        mine = TAGS.findall(self.attempt(whispers("Well met.", "Berit")).content.decode())
        for case in CASES:
            with self.subTest(case=case.name):
                text = case.written
                response = self.attempt(
                    calls("get", item=text), words=f"x {text}", person=text, part="", model=""
                )
                assert response.status_code in (200, 400, 404)
                answered = self.attempt(whispers(f"x {text}", "Berit"), words=f"x {text}")
                assert 200 == answered.status_code
                for each in (response, answered):
                    body = each.content.decode()
                    assert set(TAGS.findall(body)) <= {*mine, "li"}
                    assert "<" not in text or text not in body
                self.model.answers.clear()
