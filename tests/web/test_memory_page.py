"""Pages of one assistant's memories: list, search, correction and forgetting."""

import html
import json
import re
from unittest import mock

from django.conf import settings
from evennia.accounts.models import AccountDB

from evennia_ai import audit
from evennia_ai.core.hearing.audience import masked
from evennia_ai.memory_store import rows
from evennia_ai.models import EntityProfile, Memory
from evennia_ai.operations.conversation.hearing import judge
from evennia_ai.operations.memory import profiles
from evennia_ai.runtime import state
from evennia_ai.web.forms import AT_ONCE
from tests.browser.cases import CASES
from tests.game.support import pump, says
from tests.web.remembering import OPEN, SECRET, RememberingPages
from tests.web.support import form_of, intruders, text_of


class MemoryPageTest(RememberingPages):
    def test_each_line_says_who_may_know_it(self) -> None:
        shown = text_of(self.get("memory", key="Ada"))
        assert OPEN in shown
        assert "Who may know this: open to all." in shown
        assert "Who may know this: private to Pia." in shown
        assert masked(SECRET) in shown
        assert SECRET not in shown

    def test_private_words_are_revealed_on_record(self) -> None:
        address = self.address("memory", key="Ada")
        for who, status in (("builder", 403), ("controller", 200), ("owner", 200)):
            response = self.client_of(who).post(address, {"reveal": "true"})
            assert status == response.status_code
            assert (SECRET in text_of(response)) is (status == 200)
        facts = self.facts("words_revealed")
        assert [("Astrid", 1), ("Berit", 1)] == [(each["by"], each["count"]) for each in facts]
        assert SECRET not in str(facts)

    def test_to_look_reveals_nothing(self) -> None:
        """A link cannot reveal words; only the button's POST does."""
        response = self.get("memory", key="Ada", query={"reveal": "true"})
        assert SECRET not in text_of(response)
        assert [] == self.facts("words_revealed")

    def test_chosen_by_person_kind_and_words(self) -> None:
        shown = text_of(self.get("memory", key="Ada", query={"text": "ATLAS"}))
        assert OPEN in shown
        assert masked(SECRET) not in shown
        shown = text_of(self.get("memory", key="Ada", query={"person": "Pia"}))
        assert masked(SECRET) in shown
        assert OPEN not in shown
        assert "No memory matches." in text_of(
            self.get("memory", key="Ada", query={"kind": "insight"})
        )
        for query in ({"person": "Nobody"}, {"kind": "rumour"}, {"before": "x"}):
            response = self.get("memory", key="Ada", query=query)
            assert 400 == response.status_code
        assert "There is nobody by the name 'Nobody'" in text_of(
            self.get("memory", key="Ada", query={"person": "Nobody"})
        )

    def test_what_no_database_keeps(self) -> None:
        """NUL characters and numbers beyond the range of the database are no server error."""
        assert OPEN in text_of(self.get("memory", key="Ada", query={"text": "at\x00las"}))
        assert 400 == self.get("memory", key="Ada", query={"before": "1e300"}).status_code
        assert 404 == self.get("one-memory", key="Ada", number=10**40).status_code

    def test_older_ones_come_by_a_link(self) -> None:
        for number in range(60):
            self.kept(f"Boat {number} lies in the harbour.")
        shown = self.walk("memory", "?text=boat", key="Ada")
        assert 2 == len(shown)
        counts = [" ".join(shown).count(f"Boat {number} lies") for number in range(60)]
        assert [1] * 60 == counts

    def test_hostile_texts_stay_texts(self) -> None:
        for case in CASES:
            number = self.kept(f"x {case.written}", tags=(case.written,)).pk
            for response in (
                self.get("one-memory", key="Ada", number=number),
                self.get("memory", key="Ada", query={"q": case.written, "who": case.written}),
                self.post("memory-correct", {"text": ""}, key="Ada", number=number),
                self.post("memory-add", {"text": case.written, "trust": "x"}, key="Ada"),
            ):
                assert [] == intruders(response), case.name
        assert [] == intruders(self.get("memory", key="Ada"))


class SearchTest(RememberingPages):
    """The search: memories that a text would bring into a prompt, and why."""

    def test_what_would_be_told_and_why(self) -> None:
        self.ada_script.db.memory_config = {"recall_limit": 1}
        torn = self.kept("The atlas has a torn page.").text
        shown = text_of(self.get("memory", key="Ada", query={"q": "where is the atlas?"}))
        section, _, rest = shown.partition("Add a memory")
        head, _, left = section.partition("It would not be used")
        assert [1, 1] == [sum(text in part for text in (OPEN, torn)) for part in (head, left)]
        assert "Weight" in head
        assert "Not used: similar ones or more relevant ones come first" in left
        assert rest

    def test_it_depends_on_who_says_it(self) -> None:
        """Pia's private words are found for her whisper alone."""
        words = {"q": "who loves the miller?", "who": "Pia"}
        address = self.address("memory", key="Ada")
        for more, is_found in (({}, True), ({"aloud": "yes"}, False), ({"who": "Bo"}, False)):
            query = "&".join(f"{name}={value}" for name, value in {**words, **more}.items())
            response = self.client_of("owner").post(f"{address}?{query}", {"reveal": "true"})
            text = text_of(response).partition("Add a memory")[0]
            assert (SECRET in text) is is_found, more

    def test_that_something_private_is_found_is_not_told(self) -> None:
        """Otherwise searches could guess private words one by one."""
        for way in ("recall", "alike"):
            query = {"q": "who loves the miller?", "who": "Pia", "way": way}
            text = text_of(self.get("memory", key="Ada", query=query))
            assert masked(SECRET) not in text.partition("Add a memory")[0]

    def test_all_that_is_alike(self) -> None:
        """While the store is down the search falls back to words."""
        query = {"q": "the atlas", "way": "alike"}
        assert "% similar" in text_of(self.get("memory", key="Ada", query=query))
        self.store.is_down = True
        shown = text_of(self.get("memory", key="Ada", query=query))
        assert "cannot be searched by meaning now" in shown
        assert OPEN in shown.partition("Add a memory")[0]

    def test_a_trial_leaves_no_trace(self) -> None:
        before = [each.number for each in self.ada_script.work.decisions.newest()]
        self.get("memory", key="Ada", query={"q": "the atlas", "who": "Pia"})
        assert before == [each.number for each in self.ada_script.work.decisions.newest()]
        assert [] == self.model.bodies


class OneMemoryTest(RememberingPages):
    def test_where_it_came_from(self) -> None:
        fact = self.kept("There is an atlas.", cites=(self.open.key,))
        assert OPEN in text_of(self.get("one-memory", key="Ada", number=fact.pk))
        shown = text_of(self.get("one-memory", key="Ada", number=self.open.pk))
        assert "There is an atlas." in shown.partition("Led to")[2]

    def test_put_right(self) -> None:
        self.kept("There is an atlas.", cites=(self.open.key,))
        form = {"text": "The atlas is in the cellar."}
        shown = text_of(self.post("memory-correct", form, key="Ada", number=self.open.pk))
        assert "is corrected. Also forgotten: 1 fact." in shown
        assert [SECRET, "The atlas is in the cellar."] == sorted(self.texts())
        assert "Astrid" == self.facts("memory_corrected")[0]["by"]

    def test_what_is_wrong_keeps_what_was_typed(self) -> None:
        long = "x" * 1001
        response = self.post("memory-correct", {"text": long}, key="Ada", number=self.open.pk)
        assert 400 == response.status_code
        assert "a memory has at most 1000 characters" in text_of(response)
        assert long in response.content.decode()
        assert OPEN in self.texts()

    def test_a_second_tab_puts_nothing_back(self) -> None:
        """A stale form is shown again with the other change, and a second press saves it."""
        path = {"key": "Ada", "number": self.open.pk}
        stale = form_of(self.get("one-memory", **path), "correct/")
        self.post("memory-correct", {"text": "It is in the cellar."}, **path)
        response = self.post("memory-correct", {**stale, "text": "It is in the attic."}, **path)
        assert 409 == response.status_code
        assert "was changed by somebody since you opened it" in text_of(response)
        assert "It is in the cellar." in self.texts()
        again = form_of(response, "correct/")
        assert "It is in the attic." == again["text"]
        assert "is corrected" in text_of(self.post("memory-correct", again, **path))
        assert "It is in the attic." in self.texts()

    def test_forgotten_by_whoever_is_sure(self) -> None:
        response = self.post("memory-forget", key="Ada", number=self.open.pk)
        assert 400 == response.status_code
        assert OPEN in self.texts()
        shown = text_of(self.post("memory-forget", {"sure": "yes"}, key="Ada", number=self.open.pk))
        assert f"Ada forgot number {self.open.pk}." in shown
        assert [SECRET] == self.texts()

    def test_what_is_not_there_is_said(self) -> None:
        response = self.get("one-memory", key="Ada", number=999_999)
        assert 404 == response.status_code
        assert "Ada has no memory 999999" in text_of(response)

    def test_after_a_refusal_to_reveal_does_not_do_it_again(self) -> None:
        """The button to reveal leads to the page, never to the refused action."""
        body = self.post("memory-add", {"text": ""}, key="Ada").content.decode()
        links = re.findall(r'action="([^"]+)"[^>]*><input[^>]+><button[^>]+name="reveal"', body)
        assert [self.address("memory", key="Ada")] == links


class AddingTest(RememberingPages):
    def test_added(self) -> None:
        form = {"text": "The mill burnt.", "kind": "fact", "importance": "9", "trust": "0,8"}
        shown = text_of(self.post("memory-add", {**form, "tags": "mill, fire"}, key="Ada"))
        assert "Ada knows that now, as number" in shown
        row = rows.of(self.ada_script.pk, text="The mill burnt.").get()
        assert (9, 0.8, ["mill", "fire"]) == (row.importance, row.trust, row.tags)
        assert "Astrid" == self.facts("memories_kept")[0]["by"]

    def test_what_is_wrong_is_said_where_it_stands(self) -> None:
        for field, value, problem in (
            ("importance", "many", "'many' is not a number"),
            ("importance", "2.5", "'2.5' is not a whole number"),
            ("importance", "1,000", "'1,000' could be 1000 or 1.000; write it without a comma"),
            ("importance", "11", "importance must be a whole number from 1 to 10"),
            ("trust", "nan", "'nan' is not a number"),
            ("trust", "1,000", "'1,000' could be 1000 or 1.000; write it without a comma"),
            ("trust", "1,000,000", "'1,000,000' is not a number"),
            ("trust", "2", "trust must be a number from 0 to 1"),
            ("kind", "rumour", "'rumour' is not a kind to add"),
            ("text", " ", "there is nothing to remember"),
        ):
            form = {"text": "The mill burnt.", "tags": "typed-before", field: value}
            response = self.post("memory-add", form, key="Ada")
            assert 400 == response.status_code
            assert problem in text_of(response)
            assert 'value="typed-before"' in response.content.decode()
        assert [OPEN, SECRET] == self.texts()

    def test_read_anew(self) -> None:
        Memory.objects.update(indexed_as="")
        shown = text_of(self.post("memory-reindex", key="Ada"))
        assert "2 memories indexed by" in shown, shown
        self.catch_up()
        assert 2 == len(self.in_store())


class WithoutBodyTest(RememberingPages):
    """Ada has lost her body, and her memories are looked after until she gets another one."""

    def setUp(self) -> None:
        super().setUp()
        self.ask("say Ada, hello", says("Hello."))
        (heard,) = self.ada_script.work.decisions.newest()
        self.heard = heard.number
        self.ada.delete()
        pump()

    def test_memories_are_changed(self) -> None:
        added = self.post("memory-add", {"text": "The lamp is old."}, key="Ada")
        assert "Ada knows that now" in text_of(added)
        number = Memory.objects.get(text="The lamp is old.").pk
        form = {"text": "The lamp is new.", "sure": "yes"}
        for button in ("memory-correct", "memory-forget"):
            assert 200 == self.post(button, form, key="Ada", number=number).status_code, button
        refused = self.post("memory-add", {"text": "Ada is a fool."}, key="Ada")
        assert "belongs in its persona" in text_of(refused)

    def test_her_turns_are_read(self) -> None:
        assert "hello" in text_of(self.get("turn", key="Ada", number=self.heard))

    def test_nothing_can_be_tried_on_her(self) -> None:
        tried = judge(self.ada_script, self.tom, "hello")
        assert "Ada has no body, so it hears nothing." == tried.message


class PeopleTest(RememberingPages):
    def setUp(self) -> None:
        super().setUp()
        known = [{"text": "Fond of bread.", "audience": "world", "at": 0.0}]
        EntityProfile.objects.create(
            assistant=self.ada_script.pk,
            entity=self.pia,
            entity_type="player",
            name="Pia",
            attributes=known,
            first_at=0.0,
            last_at=0.0,
        )

    def test_a_person(self) -> None:
        assert "Pia" in text_of(self.get("people", key="Ada"))
        shown = text_of(self.get("people", key="Ada", query={"who": "Pia"}))
        assert "Fond of bread." in shown
        assert "who may know this: open to all" in shown
        assert masked(SECRET) in shown
        assert SECRET not in shown
        assert self.facts("memory_viewed")[0]["person"] == self.pia

    def test_only_what_a_page_shows_counts_as_seen(self) -> None:
        for number in range(60):
            self.kept(f"Pia sold loaf {number}.", person=self.people["player"], is_private=True)
        address = f"{self.address('people', key='Ada')}?who=Pia"
        self.client_of("owner").post(address, {"reveal": "true"})
        # Beside them a page has an attribute of her profile, which is open to all.
        assert [AT_ONCE - 1] == [fact["count"] for fact in self.facts("words_revealed")]
        assert AT_ONCE == max(fact["count"] for fact in self.facts("memory_viewed"))

    def test_many_come_in_parts(self) -> None:
        EntityProfile.objects.bulk_create(
            EntityProfile(assistant=self.ada_script.pk, entity=f"#{number}", first_at=0, last_at=0)
            for number in range(900_000, 900_004)
        )
        with mock.patch.object(profiles, "MOST_LISTED", 3):
            first = self.get("people", key="Ada")
            second = self.get("people", key="Ada", query={"after": 3})
        assert '<a href="?after=3">More</a>' in first.content.decode()
        assert "More" not in text_of(second)
        both = text_of(first) + text_of(second)
        assert [1] * 4 == [both.count(f"#90000{number}") for number in range(4)]

    def test_the_number_of_people_costs_no_statements(self) -> None:
        """Names of accounts that are not in memory were read one by one."""
        accounts = [
            AccountDB(username=f"Zoe{each}", db_typeclass_path=settings.BASE_ACCOUNT_TYPECLASS)
            for each in range(30)
        ]
        AccountDB.objects.bulk_create(accounts)
        people = AccountDB.objects.filter(username__startswith="Zoe").values_list("pk", flat=True)
        EntityProfile.objects.bulk_create(
            EntityProfile(assistant=self.ada_script.pk, entity=f"*#{pk}", first_at=0, last_at=0)
            for pk in people
        )
        with self.statements() as made_for:
            listed = profiles.list_profiles(self.ada_script).data.profiles
        assert {f"Zoe{each}" for each in range(30)} < {row["name"] for row in listed}
        assert len(made_for) <= 4

    def test_a_file_of_all_that_is_kept(self) -> None:
        address = self.address("person-export", key="Ada") + "?who=Pia"
        response = self.client_of("builder").get(address)
        assert response["Content-Disposition"].startswith('attachment; filename="memories-ada-')
        assert SECRET not in response.content.decode()
        assert 403 == self.client_of("builder").post(address, {"reveal": "true"}).status_code
        response = self.client_of("owner").post(address, {"reveal": "true"})
        data = json.loads(response.content)
        assert [SECRET] == [memory["text"] for memory in data["memories"]]
        assert "Astrid" == self.facts("words_revealed")[0]["by"]
        assert self.pia == self.facts("memories_exported")[0]["person"]

    def test_no_file_of_nobody(self) -> None:
        response = self.get("person-export", key="Ada", query={"who": "Nobody"})
        assert 400 == response.status_code
        assert "There is nobody by the name 'Nobody'" in text_of(response)

    def test_forgotten(self) -> None:
        assert 400 == self.post("person-forget", {"who": "Pia"}, key="Ada").status_code
        assert SECRET in self.texts()
        form = {"who": "Pia", "sure": "yes"}
        assert "Ada has forgotten them" in text_of(self.post("person-forget", form, key="Ada"))
        assert [OPEN] == self.texts()
        assert not EntityProfile.objects.filter(entity=self.pia).exists()
        assert "Astrid" == self.facts("person_forgotten")[0]["by"]

    def test_after_a_refusal_the_same_person_is_revealed(self) -> None:
        """The form's address names the person, so that the button to reveal keeps it."""
        body = self.get("people", key="Ada", query={"who": "Pia"}).content.decode()
        forget = body.partition(f'action="{self.address("person-forget", key="Ada")}')[2]
        query = html.unescape(forget.partition('"')[0])
        assert query.startswith("?who=")
        address = self.address("person-forget", key="Ada") + query
        refused = self.client_of("owner").post(address, {"who": "Pia"}).content.decode()
        links = re.findall(r'action="([^"]+)"[^>]*><input[^>]+><button[^>]+name="reveal"', refused)
        assert f"{self.address('people', key='Ada')}{query}" in map(html.unescape, links)


class NightsTest(RememberingPages):
    def test_put_to_sleep_and_woken(self) -> None:
        response = self.post("sleep", {"hours": "long"}, key="Ada")
        assert 400 == response.status_code
        assert 'value="long"' in response.content.decode()
        assert "A night cannot have 25 hours" in text_of(
            self.post("sleep", {"hours": "25"}, key="Ada")
        )
        assert "Ada sleeps until" in text_of(self.post("sleep", {"hours": "2"}, key="Ada"))
        assert "sleep" == state.read(self.ada_script, "operating_mode")
        assert "Ada is awake." in text_of(self.post("wake", key="Ada"))
        assert "awake" == state.read(self.ada_script, "operating_mode")
        assert 409 == self.post("wake", key="Ada").status_code

    def test_what_a_night_made_of_what(self) -> None:
        """Facts are shown with their sources, and those forgotten since are counted."""
        fact = self.kept("There is an atlas.", cites=(self.open.key, self.secret_of_pia.key))
        audit.record("fell_asleep", self.ada_script, until="later", reason="a test")
        keys = [fact.key, "0" * 32]
        audit.record("memories_kept", self.ada_script, count=2, why="a test", keys=keys)
        audit.record("night_completed", self.ada_script, summary="2 facts, 9 tokens")
        audit.flush()
        shown = text_of(self.get("nights", key="Ada")).partition("Recent nights")[2]
        assert "2 facts, 9 tokens" in shown
        head, _, of = shown.partition("Made from 2")
        assert "There is an atlas." in head
        assert OPEN in of
        assert masked(SECRET) in of
        assert SECRET not in of
        assert "1 more was made and has been forgotten since." in of
        response = self.client_of("owner").post(
            self.address("nights", key="Ada"), {"reveal": "true"}
        )
        assert SECRET in text_of(response)
        assert "Astrid" == self.facts("words_revealed")[0]["by"]

    def test_before_the_first_night(self) -> None:
        assert "No night has ended yet." in text_of(self.get("nights", key="Ada"))
