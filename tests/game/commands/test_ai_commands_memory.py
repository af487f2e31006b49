"""`aimemory`: an assistant's memories, for staff, with each look on record."""

import dataclasses
import json
import socket
from pathlib import Path
from stat import S_IMODE
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from django.test.utils import override_settings
from twisted.internet import reactor
from twisted.internet.defer import succeed

from evennia_ai import operations
from evennia_ai.core.memory.recollection import WORLD
from evennia_ai.memory import recalling
from evennia_ai.models import EntityProfile, Memory
from evennia_ai.operations.memory import upkeep
from evennia_ai.operations.monitoring import health as monitoring
from evennia_ai.runtime import services, state
from tests.game.commands.ai_case import REFUSED, REFUSED_MEMORY
from tests.game.memory.remembering_case import RememberingTest
from tests.game.support import pump


class StaffTest(RememberingTest):
    def typed(self, line: str) -> str:
        shown = super().typed(line)
        self.settle()
        return f"{shown}\n{self.shown()}".strip() if self.shown() != shown else shown


class TestLooking(StaffTest):
    def test_the_overview(self) -> None:
        self.remember("Mira came in", self.miras)
        self.remember("The lamp is out", "", WORLD, kind="fact")
        self.know(self.miras, "Mira")
        shown = self.typed("aimemory ada")
        assert "1 journal entry, 1 fact, 0 insights, 0 lore entries; 27 characters" in shown
        assert "1 known, 0 do not want to be remembered" in shown
        assert "0 waiting, 0 to be removed" in shown
        assert "hashing" in shown
        assert "night      none completed yet; now awake" in shown

    def test_a_night_is_told_in_words(self) -> None:
        """Before the first has ended, only the times that nights are counted from are stored."""
        waking = {"woke_at": 1_000.5, "tools_used": 3}
        state.write(self.ada_script, last_night=waking)
        assert "night      none completed yet; now awake" in self.typed("aimemory ada")
        ended = {"at": 86_400.0, "tokens": 70, "counts": {"facts": 2}, "put_off": {}}
        state.write(self.ada_script, last_night={**waking, **ended})
        told = "1970-01-02 00:00 UTC: 2 facts, 70 tokens"
        assert f"night      {told}; now awake" in self.typed("aimemory ada")
        assert told in upkeep.sleep_status(self.ada_script).message

    def test_pages_and_kinds(self) -> None:
        for number in range(25):
            self.remember(f"entry {number}.", kind="journal")
        self.remember("a fact", "", WORLD, kind="fact")
        shown = self.typed("aimemory ada list")
        assert "Ada remembers 26:" in shown
        assert "entry 24." in shown
        assert "entry 5." not in shown
        assert "entry 0." in self.typed("aimemory ada list journal 2")
        assert "There is no page 3, only 2." in self.typed("aimemory ada journal 3")
        facts = self.typed("aimemory ada list facts")
        assert "a fact" in facts
        assert "entry" not in facts
        for line in ("list 0", "list facts many", "list 1 2"):
            assert "is neither a kind nor a page" in self.typed(f"aimemory ada {line}"), line

    def test_search(self) -> None:
        """The best match comes first; while the store is down, words are compared."""
        self.remember("The lighthouse is dark", "", WORLD, kind="fact")
        self.remember("Tom sells fish", "", WORLD, kind="fact")
        shown = self.typed("aimemory ada search the dark lighthouse")
        assert "lighthouse" in shown.split("\n")[0]
        assert "%" in shown
        services.memory().close()
        shown = self.typed("aimemory ada search fish")
        assert "The store cannot be searched now (the store of memories is closed); these" in shown
        assert "Tom sells fish" in shown
        assert "Search for what?" in self.typed("aimemory ada search")

    def test_what_would_show_as_0_percent_is_no_find(self) -> None:
        """The store returns the nearest memories, however far they are."""
        self.remember("Tom sells fish", "", WORLD, kind="fact")
        looking = recalling.everything(self.ada_script, "fish", limit=10)
        self.settle()
        (hit,) = looking.result
        for similarity, shown in ((0.004, "Ada remembers nothing like that."), (0.005, "Tom")):
            far = succeed([dataclasses.replace(hit, similarity=similarity)])
            with patch.object(recalling, "everything", return_value=far):
                assert shown in self.typed("aimemory ada search fish"), similarity

    def test_one_alone_says_why_she_has_it(self) -> None:
        entry = self.remember("Mira came in", self.miras)
        fact = self.remember(
            "Mira is late", "", WORLD, kind="fact", cites=(entry.key,), tags=("x",)
        )
        shown = self.typed(f"aimemory ada show {fact.pk}")
        for part in ("open to all", "trust      0.9", "5 of 10", "tags       x", "drawn from"):
            assert part in shown, part
        shown = self.typed(f"aimemory ada show {entry.key}")
        assert "led to" in shown
        assert "private to MirasAccount" in shown
        assert "Ada has no memory 999999" in self.typed("aimemory ada show 999999")

    def test_a_look_at_what_is_private_is_recorded(self) -> None:
        """The record holds whose memories and how many were seen, by whom, and no word of them."""
        self.remember("Mira came in", self.miras)
        self.remember("The lamp is out", "", WORLD, kind="fact")
        self.typed("aimemory ada list facts")
        assert [] == self.facts("memory_viewed")
        self.typed("aimemory ada list")
        assert [] == self.facts("words_revealed")
        self.typed("aimemory ada list reveal")
        self.typed("aimemory ada person mira")
        facts = self.facts("memory_viewed")
        assert [(self.miras, 1, "Tom")] == [(t["person"], t["count"], t["by"]) for t in facts]
        shown = self.facts("words_revealed")
        assert [(1, "Tom", "memories")] == [(t["count"], t["by"], t["kind"]) for t in shown]
        assert "came" not in str([*facts, *shown])

    def test_only_the_page_that_is_shown_counts_as_seen(self) -> None:
        for number in range(25):
            self.remember(f"Mira came in {number}.", self.miras)
        assert "(5 private words are masked" in self.typed("aimemory ada list 2")
        self.typed("aimemory ada list 2 reveal")
        assert [5] == [fact["count"] for fact in self.facts("words_revealed")]

    def test_whom_she_knows(self) -> None:
        assert "Ada knows nobody yet." in self.typed("aimemory ada profiles")
        self.know(self.miras, "Mira", "likes storms")
        self.know("*#999", "Old Tom", "is gone")
        for line in ("mira", "MirasAccount", self.miras, self.mira.dbref):
            assert "likes storms" in self.typed(f"aimemory ada profiles {line}"), line
        assert "is gone" in self.typed("aimemory ada profiles old tom")
        assert "There is no character or object named 'edda'." in self.typed(
            "aimemory ada person edda"
        )
        assert "met 0 times" in self.typed("aimemory ada profiles")


class TestChanging(StaffTest):
    def test_added_corrected_forgotten(self) -> None:
        assert "Ada knows that now, as number" in self.typed("aimemory ada add The lamp is out.")
        (memory,) = Memory.objects.filter(text="The lamp is out.")
        assert ("world", "manual") == (memory.audience, memory.importance_by)
        shown = self.typed(f"aimemory ada correct {memory.pk} = The lamp = lit.")
        assert f"Ada: number {memory.pk} is corrected." in shown
        assert ["The lamp = lit."] == self.texts()
        assert f"Ada forgot number {memory.pk}." in self.typed(f"aimemory ada forget {memory.pk}")
        assert [] == self.texts()
        for event in ("memories_kept", "memory_corrected", "memories_forgotten"):
            assert ["Tom"] == [fact["by"] for fact in self.facts(event)], event

    def test_a_text_may_end_in_reveal(self) -> None:
        """At the end of other lines that word asks for private words."""
        self.typed("aimemory ada add We do not know what the fog will reveal")
        (memory,) = Memory.objects.filter(text="We do not know what the fog will reveal")
        self.typed(f"aimemory ada correct {memory.pk} = Fog and dawn reveal")
        assert ["Fog and dawn reveal"] == self.texts()
        self.typed("aimemory lore add fog = Nobody knows what it will reveal")
        assert Memory.objects.filter(kind="lore", text="Nobody knows what it will reveal").exists()
        assert "what it will reveal" in self.typed("aimemory lore reveal")
        assert "1 fact" in self.typed("aimemory ada reveal")
        assert "1 fact" in self.typed("aimemory reveal")

    def test_nothing_of_herself(self) -> None:
        """Facts about herself belong in her persona."""
        for text in ("Ada is a rude assistant.", ""):
            assert "remembers nothing new" in self.typed(f"aimemory ada add {text}"), text
        assert [] == self.texts()

    def test_a_person_is_forgotten_after_asking(self) -> None:
        self.remember("Mira came in", self.miras)
        assert "Should Ada forget mira?" in self.typed("aimemory ada forget person mira")
        assert "Ada forgets nothing." == self.typed("no").strip()
        assert ["Mira came in"] == self.texts()
        self.typed("aimemory ada forget person mira")
        told = self.typed("yes")
        assert "Ada has forgotten them: 1 memory" in told
        assert "your" not in told
        assert [] == self.texts()
        for line in ("forget", "forget 1 2", "forget person", "correct 3", "correct = x"):
            assert "Usage: aimemory" in self.typed(f"aimemory ada {line}"), line

    def test_another_command_instead_of_an_answer_is_a_no_and_is_run(self) -> None:
        self.remember("Mira came in", self.miras)
        for asks in ("aimemory ada forget person mira", "assistant forget everything ada"):
            self.typed(asks)
            shown = self.typed("whisper ada = is it late?")
            assert shown.startswith("Ada forgets nothing.\nYou whisper to Ada"), shown
        assert ["Mira came in"] == self.texts()

    def test_all_of_a_person_in_a_file(self) -> None:
        self.remember("Mira came in", self.miras)
        with TemporaryDirectory() as folder, override_settings(GAME_DIR=folder):
            shown = self.typed("aimemory ada export person mira reveal")
            assert shown.startswith("Ada remembers 1 thing about MirasAccount. "), shown
            (path,) = Path(folder).rglob("*.json")
            content = json.loads(path.read_text(encoding="utf-8"))
            assert 0o600 == S_IMODE(path.stat().st_mode)
        assert ["Mira came in"] == [row["text"] for row in content["memories"]]
        assert [self.miras] == [fact["person"] for fact in self.facts("memories_exported")]
        assert "About whom?" in self.typed("aimemory ada export mira")

    def test_whoever_is_gone_is_named_as_ada_met_them(self) -> None:
        self.remember("a guest came in", "*#99")
        with TemporaryDirectory() as folder, override_settings(GAME_DIR=folder):
            assert "about *#99." in self.typed("aimemory ada export person *#99")
            self.know("*#99", "Guest5")
            assert "about Guest5." in self.typed("aimemory ada export person *#99")

    def test_guests_of_one_name_are_listed_and_named_by_their_ids(self) -> None:
        for person in ("*#98", "*#99"):
            self.know(person, "Guest5")
            self.remember("a guest came in", person)
        for person in ("*#98", "*#99"):
            assert f"Guest5 ({person}, gone): met" in self.typed("aimemory ada profiles")
            assert f" {person} (private): " in self.typed("aimemory ada list")
        several = "Ada met several who were called Guest5: *#98, *#99. Give a name, or #12"
        for line in ("person", "forget person", "export person", "profiles"):
            assert several in self.typed(f"aimemory ada {line} Guest5"), line
        self.know(self.miras, "Guest5")
        self.account2.username = "Guest5"
        self.account2.save()
        also = "Ada also met others called guest5; to name one, give the id: *#98, *#99"
        assert also in self.typed("aimemory ada person guest5")
        self.typed("aimemory ada forget person *#98")
        self.typed("yes")
        assert ["a guest came in"] == self.texts()

    def test_all_assistants_export_and_forget_a_person(self) -> None:
        """Those whose memory one may not change are named, and forget nothing."""
        for name, locks in (("Brass", ""), ("Edda", "ai_memory:false()")):
            script, body = self.make(name)
            body.locks.add(f"ai_control:perm(Builder);{locks}")
            memory = self.remember(f"Mira met {name}", self.miras)
            Memory.objects.filter(pk=memory.pk).update(assistant=script.pk)
        self.remember("Mira came in", self.miras)
        with TemporaryDirectory() as folder, override_settings(GAME_DIR=folder):
            shown = self.typed("aimemory all export person mira reveal")
            names = [path.name.split("-")[1] for path in Path(folder).rglob("*.json")]
        assert ["ada", "brass"] == sorted(names)
        assert "Edda" in shown
        assert "Should 2 assistants forget mira?" in self.typed("aimemory all forget person mira")
        self.typed("yes")
        pump()
        assert ["Mira met Edda"] == [memory.text for memory in Memory.objects.all()]
        assert "Of all: forget person" in self.typed("aimemory all forget mira")

    def test_read_anew(self) -> None:
        for number in range(3):
            self.remember(f"entry {number}.")
        Memory.objects.update(indexed_as="another/8")
        assert "3 of another model: aimemory Ada reindex" in self.typed("aimemory ada")
        assert "Ada: 3 memories indexed by hashing" in self.typed("aimemory ada reindex")
        assert "of another model" not in self.typed("aimemory ada")

    def test_whoever_has_no_say_only_looks(self) -> None:
        memory = self.remember("Mira came in", self.miras)
        self.lock_out()
        for line in (
            "add x",
            f"correct {memory.pk} = x",
            f"forget {memory.pk}",
            "forget person mira",
            "export person mira",
            "reindex",
        ):
            assert REFUSED_MEMORY == self.typed(f"aimemory ada {line}"), line
        for line in ("sleep", "wake"):
            assert REFUSED == self.typed(f"aimemory ada {line}"), line
        assert REFUSED_MEMORY == self.typed("history reset ada all")
        assert ["Mira came in"] == self.texts()
        assert "characters)" in self.typed("aimemory ada list")
        assert "needs its lock 'ai_control" in self.typed("aimemory ada list reveal")

    def test_sleep_and_wake(self) -> None:
        assert "Ada sleeps until " in self.typed("aimemory ada sleep 2")
        assert "asleep" in operations.status(self.ada_script).message
        assert "Ada is awake." in self.typed("aimemory ada wake")
        assert "Ada is already awake." in self.typed("aimemory ada wake")
        for hours, answer in (
            ("x", "is not a number of hours"),
            ("0", "cannot have 0"),
            ("99", "cannot have 99"),
        ):
            assert answer in self.typed(f"aimemory ada sleep {hours}"), hours


class TestReset(StaffTest):
    def test_memories_stay_unless_told(self) -> None:
        self.remember("Mira came in", self.miras)
        self.know(self.miras, "Mira")
        state.write(self.ada_script, conversation_history=[], notes=[{"text": "x"}])
        assert "Ada starts a new conversation." == self.typed("/history reset ada")
        assert ["Mira came in"] == self.texts()
        self.typed("history ada reset with memories")
        assert "Ada forgets nothing, and goes on with the conversation." == self.typed("no").strip()
        self.typed("history reset ada all")
        assert "Ada forgot all memories: 1." in self.typed("yes")
        assert [] == self.texts()
        assert not EntityProfile.objects.filter(assistant=self.ada_script.pk).exists()
        assert [] == state.read(self.ada_script, "notes")


class TestWell(StaffTest):
    """The state of her memory, in every place that reports it."""

    def views(self) -> list[tuple[str, str]]:
        """State and problem of memory, as three operations report them to programs."""
        memory = operations.memory_status(self.ada_script).data
        status = operations.status(self.ada_script).data.memory
        health = monitoring.health(with_reasons=True).data
        reason = next((text for text in health.reasons if text.startswith("memories: ")), "")
        return [
            (memory.state, memory.problem),
            (status["state"], status["problem"]),
            (health.memory, reason.removeprefix("memories: ")),
        ]

    def alarms(self) -> list[bool]:
        """True for each of `aimemory`, `assistant` and `assistant status` that shows a problem."""
        lines = (("aimemory ada", "problem  "), ("assistant", "cannot be searched"))
        every = (*lines, ("assistant status ada", "memory    cannot be searched"))
        return [words in self.typed(line) for line, words in every]

    def test_all_agree_that_all_is_well(self) -> None:
        self.remember("Mira came in", self.miras)
        assert [("ok", "")] * 3 == self.views()
        assert [False] * 3 == self.alarms()

    def test_all_agree_that_the_store_is_down(self) -> None:
        """The server is asked over a real socket."""
        with socket.socket() as held, pytest.MonkeyPatch.context() as patch:
            held.bind(("127.0.0.1", 0))  # bound, but nothing listens
            patch.setenv("EVENNIA_AI_MEMORY_STORE", "qdrant")
            patch.setenv("EVENNIA_AI_MEMORY_URL", f"http://127.0.0.1:{held.getsockname()[1]}")
            services.memory.cache_clear()
            asked = services.memory().keys(self.ada_script.pk)
            while not asked.called:
                reactor.iterate(0.01)
            (view,) = set(self.views())
            assert ("failed", True) == (view[0], "the Qdrant server at 127.0.0.1" in view[1])
            assert [True] * 3 == self.alarms()
            assert "degraded" == monitoring.health().data.status
            services.memory().close()
        services.memory.cache_clear()
        assert [("ok", "")] * 3 == self.views()

    def test_all_agree_on_another_embedding_model(self) -> None:
        """Memories that cannot be compared are not found, although the store is up."""
        self.remember("Mira came in", self.miras)
        Memory.objects.update(indexed_as="another/8")
        self.ada_script.work.indexing = None
        (view,) = set(self.views())
        assert ("failed", True) == (view[0], "aimemory Ada reindex" in view[1])
        assert [True] * 3 == self.alarms()

    def test_none_is_wanted(self) -> None:
        """A store that is switched off is no problem."""
        services.memory().absence = "EVENNIA_AI_MEMORY_STORE is 'none': nothing is found"
        assert {"off"} == {status for status, _ in self.views()}
        assert "ok" == monitoring.health().data.status

    def test_deleted_with_her(self) -> None:
        """Her rows, profiles and vectors are deleted; a clone gets none of them."""
        self.remember("Mira came in", self.miras)
        self.know(self.miras, "Mira")
        number = self.ada_script.pk
        self.typed("assistant clone ada = Oriel")
        assert [number] == list(Memory.objects.values_list("assistant", flat=True))
        self.typed("assistant delete ada")
        self.typed("yes")
        assert not Memory.objects.exists()
        assert not EntityProfile.objects.exists()
        keys: list[set[str]] = []
        services.memory().keys(number).addCallback(keys.append)
        assert [set()] == keys
