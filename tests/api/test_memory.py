"""Memories over the API: the rights of staff, and of everybody about themselves."""

from typing import Any
from unittest import mock

from evennia_ai.memory_store import rows
from evennia_ai.messages.incoming import person_of
from evennia_ai.models import EntityProfile
from evennia_ai.operations.memory import own, profiles
from tests.api.stock import SAID, own_key, own_number, private_memory
from tests.api.support import ApiTest
from tests.game.support import whispers

ADA = "assistants/Ada/"
MEMORY, MINE = f"{ADA}memory/", f"{ADA}me/memory/"
ATLAS = {"text": "The atlas is in the east tower.", "importance": 8, "tags": ["atlas"]}


class MemoryTest(ApiTest):
    """Ada remembers one thing of Mira, and one of each account."""

    def setUp(self) -> None:
        super().setUp()
        self.stock(self.ada_script)
        self.miras = person_of(self.mira).replace("*#", "account-")

    def texts(self, **conditions: Any) -> list[str]:
        return [row.text for row in rows.of(self.ada_script.pk, **conditions).order_by("id")]

    def facts(self, event: str) -> list[dict[str, Any]]:
        """Return the details of each event of a name in Ada's record."""
        return [row["details"] for row in self.get(f"{ADA}audit/?event={event}")["entries"]]


class TestStaff(MemoryTest):
    def test_a_memory_lives_and_is_gone(self) -> None:
        response = self.call("POST", MEMORY, ATLAS)
        assert 201 == response.status_code, response.content
        path = f"{MEMORY}{response.told['memory']['key']}/"
        assert f"/api/ai/{path}" == response.headers["Location"]
        row = self.get(path)["memory"]
        expected = ("fact", ATLAS["text"], "world", 8, ["atlas"], "manual")
        named = ("kind", "text", "audience", "importance", "tags", "importance_by")
        assert expected == tuple(row[name] for name in named)
        assert 200 == self.call("PATCH", path, {"text": "It is lost."}).status_code
        assert "It is lost." == self.get(path)["memory"]["text"]
        assert 200 == self.call("DELETE", path).status_code
        for method, body in (("GET", None), ("PATCH", {"text": "Found."}), ("DELETE", None)):
            self.fault(404, method, path, body)
        assert "It is lost." not in self.texts()

    def test_lists_are_chosen_from_and_come_in_pages(self) -> None:
        assert ["Mira sails on Monday."] == [
            row["text"] for row in self.get(f"{MEMORY}?person={self.miras}&reveal=true")["memories"]
        ]
        (mira,) = self.get(f"{MEMORY}?text=monday&reveal=true")["memories"]
        assert (self.miras, SAID) == (mira["person"], mira["key"])
        assert [] == self.get(f"{MEMORY}?kind=insight")["memories"]
        numbers, query = [], "?limit=3"
        while query:
            page = self.get(f"{MEMORY}{query}")
            numbers += [row["number"] for row in page["memories"]]
            query = f"?limit=3&before={page['next']}" if page["next"] else ""
        assert 1 + len(self.people) == len(numbers)
        assert sorted(numbers, reverse=True) == numbers

    def test_it_is_found_by_its_meaning(self) -> None:
        begun = self.call("POST", f"{MEMORY}reindex/")
        assert 202 == begun.status_code, begun.content
        hits = self.get(f"{MEMORY}search/?q=when does Mira sail on Monday&reveal=true")["memories"]
        assert SAID == hits[0]["key"]
        assert 1 == len(
            self.get(f"{MEMORY}search/?q=Mira sails on Monday&limit=1&reveal=true")["memories"]
        )
        assert self.get(f"{MEMORY}status/")["text"]

    def test_whom_she_knows(self) -> None:
        (profile,) = self.get(f"{ADA}profiles/")["profiles"]
        assert (self.miras, self.account2.key) == (profile["person"], profile["name"])
        assert self.miras == self.get(f"{ADA}profiles/{self.miras}/")["person"]
        self.fault(404, "GET", f"{ADA}profiles/object-999999999/")

    def test_all_whom_she_knows_come_in_pages(self) -> None:
        """Also those beyond the number that is listed at once."""
        EntityProfile.objects.bulk_create(
            EntityProfile(assistant=self.ada_script.pk, entity=f"#{number}", first_at=0, last_at=0)
            for number in range(900_000, 900_007)
        )
        people, query = [], "?limit=3"
        with mock.patch.object(profiles, "MOST_LISTED", 3):
            while query:
                page = self.get(f"{ADA}profiles/{query}")
                people += [each["person"] for each in page["profiles"]]
                query = f"?limit=3&offset={page['next']}" if page["next"] else ""
        assert 8 == page["count"] == len(set(people)) == len(people)

    def test_who_looks_is_in_the_record(self) -> None:
        """The record names the person whose words were revealed, and contains none of them."""
        assert "Monday" not in str(self.get(f"{MEMORY}{SAID}/", who="builder"))
        assert [] == self.facts("words_revealed")
        self.get(f"{MEMORY}{SAID}/?reveal=true", who="admin")
        (fact,) = self.facts("words_revealed")
        assert ("Astrid", "api", self.miras) == (fact["by"], fact["via"], fact["person"])
        assert "Monday" not in str(fact)

    def test_hole_a7_only_whoever_controls_her_reveals(self) -> None:
        """As on the workbench and over MCP; other staff read the rest."""
        for path in (f"{MEMORY}{SAID}/", f"{ADA}history/", f"{ADA}trace/"):
            with self.subTest(path):
                assert "Monday" not in str(self.get(path, who="builder"))
                self.fault(403, "GET", f"{path}?reveal=true", who="builder")
        assert [] == self.facts("words_revealed")

    def test_hole_a7_whatever_is_asked_private_words_are_masked(self) -> None:
        """Only `reveal` shows them, and each such request is recorded."""
        secret = "Mira is fond of xylophones"
        self.ask(f"whisper Ada = {secret}", whispers("So?", "Mira"), person=self.mira)
        paths = {
            f"{ADA}history/": "conversation",
            f"{ADA}history/?format=export": "conversation, exported",
            f"{ADA}events/": "what was heard",
            f"{ADA}events/{self.ada_script.work.decisions.count}/": "what was heard",
            f"{ADA}people/{self.miras}/memory/": "export",
        }
        for path, kind in paths.items():
            with self.subTest(path):
                assert secret not in str(self.get(path))
                shown = self.get(f"{path}{'&' if '?' in path else '?'}reveal=true")
                assert secret in str(shown)
                assert kind == self.facts("words_revealed")[0]["kind"]
        self.fault(400, "GET", f"{ADA}history/?reveal=perhaps")

    def test_somebody_is_exported_and_forgotten(self) -> None:
        path = f"{ADA}people/{self.miras}/memory/"
        assert [SAID] == [row["key"] for row in self.get(path)["memories"]]
        self.fault(403, "DELETE", path, who="builder")
        assert 200 == self.call("DELETE", path).status_code
        assert [] == self.get(path)["memories"]
        assert [] == self.get(f"{ADA}profiles/")["profiles"]
        assert "Mira sails on Monday." not in self.texts()
        assert len(self.people) == len(self.texts())
        # An account that does not exist has no memories; that is not an error.
        assert [] == self.get(f"{ADA}people/account-999999999/memory/")["memories"]

    def test_what_cannot_be_is_refused(self) -> None:
        before = self.texts()
        for field, value in (
            ("text", ""),
            ("text", 5),
            ("text", "a" * 1001),
            ("kind", "lore"),
            ("importance", 11),
            ("importance", "5"),
            ("trust", 1.5),
            ("trust", "high"),
            ("trust", True),
            ("tags", "atlas"),
            ("tags", [""]),
            ("audience", "world"),
        ):
            with self.subTest(f"{field} {value!r}"[:40]):
                error = self.fault(400, "POST", MEMORY, ATLAS | {field: value})
                assert field in next(iter(error["fields"]))
        for query in ("person=Mira", "person=*", "kind=lore", "limit=0", "text=", "audience=world"):
            self.fault(400, "GET", f"{MEMORY}?{query}")
        for path in ("x/", f"{SAID.upper()}x/", f"{SAID}0/", "%2a/"):
            self.fault(404, "GET", f"{MEMORY}{path}")
        self.fault(400, "GET", f"{MEMORY}search/")
        assert before == self.texts()


class TestOneself(MemoryTest):
    def setUp(self) -> None:
        super().setUp()
        self.pia = self.people["player"]

    def test_she_sees_what_is_known_of_her_alone(self) -> None:
        known = self.get(MINE, who="player")
        assert ["Pia sails."] == [row["text"] for row in known["known"]]
        assert (True, 1, None) == (known["is_remembered"], known["count"], known["next"])
        export = self.get(f"{MINE}export/", who="player")
        assert [own_key(self.pia)] == [row["key"] for row in export["memories"]]
        assert f"account-{self.pia.pk}" == export["person"] == export["memories"][0]["person"]

    def test_all_of_it_comes_in_pages(self) -> None:
        sold = (
            private_memory(f"{2_000 + day:032x}", self.pia, f"{day} loaves") for day in range(6)
        )
        rows.insert(self.ada_script.pk, list(sold))
        ids, query = [], "?limit=2"
        with mock.patch.object(own, "MOST_KNOWN", 3):
            while query:
                page = self.get(f"{MINE}{query}", who="player")
                ids += [each["id"] for each in page["known"]]
                query = f"?limit=2&offset={page['next']}" if page["next"] else ""
        assert 7 == page["count"] == len(set(ids)) == len(ids)

    def test_she_corrects_and_forgets_one(self) -> None:
        """Only her own memories can be reached here, whatever rights over assistants she has."""
        (own,) = self.get(MINE, who="player")["known"]
        path = f"{MINE}{own['id']}/"
        mira = rows.of(self.ada_script.pk, key=SAID).get()
        assert 200 == self.call("PATCH", path, {"text": "Pia rows."}, who="player").status_code
        assert "Pia rows." in self.texts()
        for who in ("player", "superuser"):
            for number in (mira.pk, own_number(self.people["admin"]), 0, "9" * 18, "a0123abcd"):
                with self.subTest(f"{who} {number}"):
                    self.fault(404, "PATCH", f"{MINE}{number}/", {"text": "Pia rows."}, who=who)
                    self.fault(404, "DELETE", f"{MINE}{number}/", who=who)
        assert 200 == self.call("DELETE", path, who="player").status_code
        self.fault(404, "DELETE", path, who="player")
        assert len(self.people) == len(self.texts())

    def test_she_is_forgotten(self) -> None:
        response = self.call("DELETE", MINE, who="player")
        assert 200 == response.status_code, response.content
        assert [] == self.get(MINE, who="player")["known"]
        assert len(self.people) == len(self.texts())

    def test_she_is_remembered_no_more_and_again(self) -> None:
        """Opting out keeps existing memories until she has them deleted."""
        for is_remembered in (False, True):
            body = {"is_remembered": is_remembered}
            assert 200 == self.call("PATCH", MINE, body, who="player").status_code
            known = self.get(MINE, who="player")
            assert (is_remembered, 1) == (known["is_remembered"], len(known["known"]))
        for wrong in ({}, {"is_remembered": "no"}, {"is_remembered": 0}, {"forget": True}):
            self.fault(400, "PATCH", MINE, wrong, who="player")

    def test_who_is_quelled_is_the_same_person(self) -> None:
        """Memories belong to the account, not to the rights of its character."""
        self.account.attributes.add("_quell", True)
        (own,) = self.get(MINE)["known"]
        assert str(own_number(self.account)) == own["id"]

    def test_it_needs_an_account_and_a_csrf_token_or_a_token(self) -> None:
        """Another page in her browser can change nothing in her name."""
        client = self.client_of(self.pia, checks_csrf=True)
        body = {"is_remembered": False}
        self.fault(403, "PATCH", MINE, body, client=client)
        self.fault(403, "DELETE", MINE, client=client)
        self.fault(401, "GET", MINE, who=None)
        self.fault(403, "GET", MINE, who="guest")
        sent = {"headers": {"authorization": self.token_of(self.pia)}}
        assert 200 == self.call("PATCH", MINE, body, who=None, **sent).status_code

    def test_there_is_no_assistant_of_that_name(self) -> None:
        message = self.fault(404, "GET", "assistants/Nobody/me/memory/", who="player")["message"]
        assert "There is no assistant named 'Nobody'." == message


class TestLog(MemoryTest):
    """The log has who did what with which status, and nobody's words."""

    def test_no_words_are_in_it(self) -> None:
        mine = f"{MINE}{own_number(self.account)}/"
        for status, method, path, body, action in (
            (201, "POST", MEMORY, ATLAS, "add memory"),
            (403, "POST", MEMORY, ATLAS, "add memory"),
            (400, "POST", MEMORY, {"txt": ATLAS["text"]}, "add memory"),
            (400, "POST", MEMORY, {"text": [[ATLAS["text"]]]}, "add memory"),
            (200, "PATCH", f"{MEMORY}{SAID}/", {"text": ATLAS["text"]}, "correct memory"),
            (200, "PATCH", mine, {"text": ATLAS["text"]}, "correct memory of me"),
            (201, "POST", "lore/", {"text": ATLAS["text"], "keywords": ["atlas"]}, "add lore"),
        ):
            with self.subTest(f"{status} {method} {path}"), self.audited() as lines:
                who = "builder" if status == 403 else "superuser"
                response = self.call(method, path, body, who=who)
                assert status == response.status_code, response.content
                (line,) = [line for line in lines if "endpoint" in line]
                assert (status, action) == (line["status_code"], line["action"])
                assert "atlas" not in str(line)
                assert "(31 characters)" in str(line["new_value"])

    def test_what_is_no_word_is_in_it(self) -> None:
        """Numbers and flags are logged as they are."""
        with self.audited() as lines:
            self.call("POST", MEMORY, ATLAS)
            self.call("PATCH", MINE, {"is_remembered": False})
        added, chosen = [line["new_value"] for line in lines if "endpoint" in line]
        assert 8 == added["importance"]
        assert {"is_remembered": False} == chosen
