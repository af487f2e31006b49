"""The page of one's own: what assistants know of an account, and its rights over that."""

import html
import json
import re
from random import Random
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext
from evennia.utils import create

from evennia_ai import operations
from evennia_ai.memory_store import rows
from evennia_ai.messages.incoming import person_of
from evennia_ai.operations.memory.profiles import list_acquaintances
from evennia_ai.runtime import state
from tests.browser.cases import CASES
from tests.game.messages.rp_world import RoleGolem
from tests.web.remembering import OPEN, SECRET, RememberingPages
from tests.web.support import intruders, text_of

OFS = "Bo told that he is afraid of owls."


class OwnPage(RememberingPages):
    """Pia, a player; Ada has private memories of her and of Bo."""

    def setUp(self) -> None:
        super().setUp()
        self.kept(OFS, person=self.people["builder"], is_private=True)

    def mine(self, who: str = "player", **query: str) -> str:
        """Return the text of the page about what Ada knows of somebody."""
        return text_of(self.get("one-of-mine", who=who, query={"of": "Ada", **query}))

    def act(self, name: str, *, who: str = "player", **form: Any) -> Any:
        return self.post(name, {"of": "Ada", **form}, who=who)

    def number(self) -> int:
        return int(self.secret_of_pia.pk)


class LookingTest(OwnPage):
    def test_who_knows_me(self) -> None:
        self.make("Bertha")
        shown = text_of(self.get("mine", who="player"))
        assert "Ada" in shown
        assert "Bertha" not in shown
        assert "No assistant knows anything about you." in text_of(self.get("mine", who="owner"))

    def test_more_assistants_need_no_more_statements(self) -> None:
        """Each player may open this page, so it must not block a game of many assistants."""
        counts = []
        for names in ((), ("Bertha", "Cleo", "Dora")):
            for name in names:
                self.make(name)
            with CaptureQueriesContext(connection) as queries:
                known = list_acquaintances(self.people["player"]).data
            assert [("Ada", 1)] == [(each.name, each.count) for each in known]
            counts.append(len(queries))
        assert counts[0] == counts[1]

    def test_only_what_is_mine(self) -> None:
        """Even staff see here only their own words."""
        for who, own in (("player", SECRET), ("builder", OFS), ("owner", "")):
            shown = self.mine(who)
            for text in (SECRET, OFS, OPEN):
                assert (text in shown) is (text == own), who
        assert "between you two" in self.mine()

    def test_a_player_reads_no_page_for_staff_in_the_menu(self) -> None:
        menu = self.get("mine", who="player").content.decode().partition("<main")[0]
        for name in ("now", "lore", "game-audit"):
            assert f'href="{self.address(name)}"' not in menu
        assert f'href="{self.address("mine")}"' in menu
        assert "live" not in menu

    def test_memories_are_by_person(self) -> None:
        second = create.create_object("evennia.objects.objects.DefaultCharacter", "Pims")
        second.account = self.people["player"]
        assert self.pia == person_of(second)
        self.kept("Pims sells fish.", person=second, is_private=True)
        assert "Pims sells fish." in self.mine()

    def test_much_comes_in_parts(self) -> None:
        for number in range(60):
            self.kept(f"Pia sold loaf {number}.", person=self.people["player"])
        both = self.mine() + self.mine(after="50")
        # Each is shown once as a memory, and once in the form that corrects it.
        assert [2] * 60 == [both.count(f"Pia sold loaf {number}.") for number in range(60)]
        page = self.get("one-of-mine", who="player", query={"of": "Ada"})
        assert "&amp;after=50" in page.content.decode()

    def test_one_that_is_not_there(self) -> None:
        response = self.get("one-of-mine", who="player", query={"of": "Nobody"})
        assert 404 == response.status_code
        assert "There is no assistant named 'Nobody' that you know." in text_of(response)
        assert 404 == self.act("my-mute", of="Nobody", muted="yes").status_code
        assert 404 == self.get("my-export", who="player", query={"of": ""}).status_code

    def test_a_long_answer_is_shown_in_any_script(self) -> None:
        """Messages go in a cookie, which dropped those with many letters of other scripts whole."""
        chance = Random(1)
        for first, count in ((ord("A"), 26), (0x400, 80), (0x4E00, 3000), (0x1F300, 250)):
            text = "".join(chr(first + chance.randrange(count)) for _ in range(900))
            response = self.act("my-correct", number=self.number(), text=f"Pia likes {text}")
            assert "Ada remembers that now: Pia likes" in text_of(response), first

    def test_hostile_texts_stay_texts(self) -> None:
        for case in CASES:
            self.kept(f"x {case.written}", person=self.people["player"])
            response = self.act("my-correct", number=case.written, text=case.written)
            assert [] == intruders(response), case.name
            query = {"of": case.written}
            assert [] == intruders(self.get("one-of-mine", who="player", query=query)), case.name
        assert [] == intruders(self.get("one-of-mine", who="player", query={"of": "Ada"}))


class AlikeTest(OwnPage):
    """Two muted assistants look the same to Pia, who does not know their names."""

    def setUp(self) -> None:
        super().setUp()
        self.pair = [self.make(name, typeclass=RoleGolem)[0] for name in ("Greta", "Gunda")]
        for script in self.pair:
            script.obj.sdesc.add("a stone giant")
            operations.set_muted(script, self.people["player"], True)

    def addresses(self) -> list[str]:
        """Return the `of` parameters of the links to both."""
        body = self.get("mine", who="player").content.decode()
        return re.findall(r"\?of=([^\"]+)\">a stone giant</a>", body)

    def test_each_has_a_page_of_its_own(self) -> None:
        assert "(one of 2 that look alike)" in text_of(self.get("mine", who="player"))
        marks = self.addresses()
        assert [str(script.pk) for script in self.pair] == marks
        for mark in marks:
            assert "do not hear each other" in self.mine(of=mark)
        response = self.get("one-of-mine", who="player", query={"of": "a stone giant"})
        assert 404 == response.status_code

    def test_what_is_pressed_there_is_done_to_that_one(self) -> None:
        first, second = self.pair
        self.post("my-remember", {"of": str(second.pk), "remembered": "no"}, who="player")
        assert [] == state.read(first, "unremembered")
        assert [self.pia] == state.read(second, "unremembered")
        assert 200 == self.get("my-export", who="player", query={"of": second.pk}).status_code
        assert [] != self.facts("memories_exported", second)
        self.post("my-remember", {"of": str(second.pk), "remembered": "yes"}, who="player")
        # Nothing connects her with that assistant any more, so the list is shown.
        shown = text_of(self.act("my-mute", of=str(second.pk), muted="no"))
        assert "Assistants that know you" in shown
        assert [] == state.read(second, "muted_by")
        assert [str(first.pk)] == self.addresses()

    def test_a_mark_of_one_that_she_did_not_meet_means_nothing(self) -> None:
        """Trying numbers must not tell which assistants exist."""
        for who, of in (("owner", self.ada_script.pk), ("builder", self.pair[0].pk)):
            response = self.get("one-of-mine", who=who, query={"of": str(of)})
            assert 404 == response.status_code
            assert f"There is no assistant named '{of}' that you know." in text_of(response)


class SayTest(OwnPage):
    def test_put_right(self) -> None:
        shown = text_of(self.act("my-correct", number=self.number(), text="She loves the baker."))
        assert "Ada remembers that now: She loves the baker." in shown
        assert "She loves the baker." in self.texts()
        assert SECRET not in self.texts()

    def test_what_is_wrong_keeps_what_was_typed(self) -> None:
        response = self.act("my-correct", number=self.number(), text="Ada is a fool.")
        assert 400 == response.status_code
        body = response.content.decode()
        assert "<details open>" in body
        assert ">Ada is a fool.</textarea>" in body
        assert SECRET in self.texts()

    def test_what_is_typed_further_down_is_kept_too(self) -> None:
        """The forms of a later part lead back to that part."""
        for number in range(60):
            self.kept(f"Pia sold loaf {number}.", person=self.people["player"])
        query = {"of": "Ada", "after": "50"}
        body = self.get("one-of-mine", who="player", query=query).content.decode()
        here = html.unescape(body.partition(f'action="{self.address("my-correct")}')[2])
        query_of_form = here.partition('"')[0]
        assert "?of=Ada&after=50" == query_of_form
        number = here.partition('name="number" value="')[2].partition('"')[0]
        address, form = self.address("my-correct") + query_of_form, {"of": "Ada", "number": number}
        client = self.client_of("player")
        refused = client.post(address, {**form, "text": "Ada is a fool."}).content.decode()
        assert ">Ada is a fool.</textarea>" in refused
        done = client.post(address, {**form, "text": "She sold two loaves."})
        assert f"{self.address('one-of-mine')}?of=Ada&after=50" == done["Location"]

    def test_where_the_last_of_a_part_is_gone_the_first_is_shown(self) -> None:
        assert SECRET in self.mine(after="50")

    def test_one_thing_forgotten(self) -> None:
        other = rows.of(self.ada_script.pk, text=OFS).get()
        assert 404 == self.act("my-forget", number=other.pk).status_code
        assert 404 == self.act("my-forget", number="x").status_code
        assert "Ada forgot that." in text_of(self.act("my-forget", number=self.number()))
        assert {OPEN, OFS} == set(self.texts())

    def test_all_of_it_forgotten(self) -> None:
        assert 400 == self.act("my-forget-all").status_code
        assert SECRET in self.texts()
        shown = text_of(self.act("my-forget-all", sure="yes"))
        assert "Ada has forgotten you: 1 memory" in shown
        assert "This stays:" in shown
        assert {OPEN, OFS} == set(self.texts())

    def test_remembered_no_more_and_again(self) -> None:
        assert "Nothing new about you is remembered." in text_of(
            self.act("my-remember", remembered="no")
        )
        assert [self.pia] == state.read(self.ada_script, "unremembered")
        assert 409 == self.act("my-remember", remembered="no").status_code
        self.act("my-remember", remembered="yes")
        assert [] == state.read(self.ada_script, "unremembered")

    def test_muted_and_heard_again(self) -> None:
        shown = text_of(self.act("my-mute", muted="yes"))
        assert "You and Ada do not hear each other." in shown
        assert [self.pia] == state.read(self.ada_script, "muted_by")
        assert "not to be heard" in text_of(self.get("mine", who="player"))
        self.act("my-mute", muted="no")
        assert [] == state.read(self.ada_script, "muted_by")

    def test_a_file_of_it(self) -> None:
        response = self.get("my-export", who="player", query={"of": "Ada"})
        named = 'attachment; filename="memories-of-me-ada.json"'
        assert named == response["Content-Disposition"]
        data = json.loads(response.content)
        assert [SECRET] == [memory["text"] for memory in data["memories"]]
        assert OFS not in response.content.decode()
        assert self.pia == self.facts("memories_exported")[0]["person"]
