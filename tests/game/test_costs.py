"""Costs: nothing while idle, and a pinned number of statements and calls for an answer."""

import gc

from django.test import override_settings
from evennia.typeclasses.attributes import Attribute
from twisted.internet import reactor

from evennia_ai import operations
from evennia_ai.budget import ledger
from evennia_ai.prompts.inputs import PromptInputs
from evennia_ai.runtime import state
from tests import postgres
from tests.calls import CountedCalls
from tests.game.support import GameTest, pump, whispers

# Exact numbers: raise one only deliberately, and lower it whenever fewer are needed.
# PostgreSQL adds to the ledger's sums row by row and reads them with one more statement. Its
# driver runs in Python and prepares some statements itself, so calls are counted on SQLite only.
ROWS_OF_A_REPLY = 34 if postgres.is_default() else 12
STATEMENTS_OF_A_REPLY = 14 + postgres.is_default()
STATEMENTS_WITHOUT_MEMORY = 13 + postgres.is_default()
# Just above the measured values on every supported Python and Evennia: a new layer shows here.
CALLS_OF_OURS = 1_840
CALLS_OF_A_REPLY = 5_720
CALLS_OF_A_NEW_MINUTE = 6_000
CHANGES_OF_MODULE = 885
MODULES_OF_A_REPLY = 153


class TestIdle(GameTest):
    def test_an_idle_beat_costs_nothing(self) -> None:
        self.ada_script.at_repeat()
        with self.assertNumQueries(0):
            for _ in range(20):
                self.ada_script.at_repeat()
        pump()
        assert [] == self.model.bodies

    def test_plain_speech_costs_nothing(self) -> None:
        heard = ('Tom says, "hello"', {"type": "say"})
        self.ada.at_msg_receive(text=heard, from_obj=self.tom)
        with self.assertNumQueries(0):
            for _ in range(20):
                self.ada.at_msg_receive(text=heard, from_obj=self.tom)

    def test_a_stopped_assistant_costs_nothing(self) -> None:
        self.type(self.tom, "whisper Ada = hello")
        operations.stop(self.ada_script, "test")
        with self.assertNumQueries(0):
            self.ada_script.at_repeat()


class TestCreation(GameTest):
    def test_only_what_was_given_is_stored(self) -> None:
        script = operations.create_assistant("Edda", persona="Copies charts.").data.script
        stored = {attribute.key for attribute in script.attributes.all()}
        assert {"assistant_key", "persona"} == stored

    def test_reading_a_default_stores_nothing(self) -> None:
        script = operations.create_assistant("Edda").data.script
        for name in state.DEFAULTS:
            state.read(script, name)
        operations.status(script)
        script.at_repeat()
        assert ["assistant_key"] == [attribute.key for attribute in script.attributes.all()]

    def test_a_default_cannot_be_changed_by_accident(self) -> None:
        """The mutable defaults are copied, so one assistant's inbox never shows in another's."""
        self.type(self.tom, "whisper Ada = hello")
        script, _ = self.make("Edda")
        assert [] == state.read(script, "pending_events")
        assert [] == state.DEFAULTS["pending_events"]


class TestReply(GameTest):
    def setUp(self) -> None:
        for timer in reactor.getDelayedCalls():  # of earlier tests, whose calls would be counted
            timer.cancel()
        super().setUp()

    def test_the_statements_of_a_reply_are_few(self) -> None:
        """They store the question, then the answer with six values and two facts at once.

        The ledger adds to twelve sums, reads them and stores the call before it and, in the
        transaction that settles the turn, after it. Memory adds a journal entry; the meeting and
        the profiles of those present were handled less than a minute ago. The trace adds one row.
        """
        for _ in range(2):
            self.ask("whisper Ada = hello", whispers("Hello."))
        heard = ('Tom whispers: "|nhello|n"', {"type": "whisper"})
        self.model.answers.append(whispers("Hello."))
        with self.statements() as taken:
            self.ada.at_msg_receive(text=heard, from_obj=self.tom)
            pump()
        queries = [query["sql"] for query in taken]
        updates = [sql.split() for sql in queries if "UPDATE" in sql]
        assert STATEMENTS_OF_A_REPLY == len(queries), "\n".join(queries)
        counts = [int(words[0]) if words[0].isdigit() else 1 for words in updates]
        assert ROWS_OF_A_REPLY == sum(counts)

    @override_settings(EVENNIA_AI_MEMORY_CONFIG={"enabled": False})
    def test_the_calls_of_a_reply_are_few(self) -> None:
        """Python function calls, of this package and in all, do not depend on the machine.

        Memory is off, since its cost depends on what there is to remember. The ledger has rows for
        each minute: the first reply of a minute costs two statements and a few calls more.
        """
        self.ada_script.work.drop_cached_settings()
        heard, counts = ('Tom whispers: "|nhello|n"', {"type": "whisper"}), []
        for seconds in (0, 0, 0, 60):
            self.advance(seconds)
            self.model.answers.append(whispers("Hello."))
            with CountedCalls() as calls, self.statements() as taken:
                self.ada.at_msg_receive(text=heard, from_obj=self.tom)
                pump()
            ways = (calls.changes, len(calls.modules), len(calls.functions))
            counts.append((calls.ours, calls.all, len(taken), *ways))
        new_minute = counts.pop()
        if not postgres.is_default():
            assert new_minute[1] <= CALLS_OF_A_NEW_MINUTE, new_minute
            assert counts[-1][1] <= CALLS_OF_A_REPLY, counts
        assert STATEMENTS_WITHOUT_MEMORY + 2 == new_minute[2], new_minute
        ours, _, statements, changes, modules, _ = counts[-1]
        assert ours <= CALLS_OF_OURS, counts
        assert STATEMENTS_WITHOUT_MEMORY == statements, counts
        assert changes <= CHANGES_OF_MODULE, counts
        assert modules <= MODULES_OF_A_REPLY, counts

    def test_a_reply_leaves_nothing_to_the_garbage_collector(self) -> None:
        """The parts of a prompt are freed at once: nothing that holds them refers to itself."""
        for _ in range(2):
            self.ask("whisper Ada = hello", whispers("Hello."))
        gc.collect()
        gc.disable()
        self.addCleanup(gc.enable)
        counts = []
        for _ in range(2):
            counts.append(sum(isinstance(each, PromptInputs) for each in gc.get_objects()))
            self.ask("whisper Ada = hello", whispers("Hello."))
        assert counts[0] == counts[1]

    def test_a_long_conversation_costs_no_more(self) -> None:
        # No flush by the ledger's own timer may come in between, however slow the machine is.
        ledger.store()._later = None
        counts = []
        for _ in range(12):
            self.model.answers.append(whispers("Hello."))
            with self.statements() as taken:
                self.type(self.tom, "whisper Ada = hello")
            counts.append(len(taken))
        assert 1 == len(set(counts[2:])), counts


class TestStore(GameTest):
    """`state.write` and `state.read`, which bypass Evennia's attribute handler."""

    def test_what_is_written_is_what_evennia_reads(self) -> None:
        values = (["a", {"b": (1, 2)}], {"é": None}, "text", 0, 1.5, True, None, [])
        for value in values:
            with self.subTest(value=value):
                state.write(self.ada_script, usage={"old": 1})
                state.write(self.ada_script, usage=value)
                assert (state.DEFAULTS["usage"] if value is None else value) == state.read(
                    self.ada_script, "usage"
                )
                rows = self.ada_script.db_attributes.filter(db_key="usage")
                assert [value] == list(rows.values_list("db_value", flat=True))

    def test_what_is_read_is_a_copy(self) -> None:
        given = {"who": [self.tom, {"deep": [1]}], self.mira: (2, [3]), "text": "é"}
        self.ada_script.db.llm_extra_params = given
        read = state.read(self.ada_script, "llm_extra_params")
        assert given == read
        assert (dict, list, dict) == (type(read), type(read["who"]), type(read["who"][1]))
        read["who"][1]["deep"].append(2)
        assert given == state.read(self.ada_script, "llm_extra_params")

    def test_an_unknown_name_is_refused(self) -> None:
        with self.assertRaisesMessage(KeyError, "an assistant keeps no 'pendng_events'"):
            state.write(self.ada_script, pendng_events=[])


class TestSettings(GameTest):
    def test_all_are_read_at_once(self) -> None:
        state.write(self.ada_script, persona="You keep the library.", llm_model="big")
        self.ada_script.attributes.reset_cache()
        with self.assertNumQueries(1):
            read = {name: state.read(self.ada_script, name) for name in state.DEFAULTS}
        assert ("You keep the library.", "big", 50) == (
            read["persona"],
            read["llm_model"],
            read["max_history"],
        )
        with self.assertNumQueries(0):
            assert state.read(self.ada_script, "failure_line") == ""

    def test_what_is_set_or_removed_later_counts(self) -> None:
        """A change by `db`, the handler or our own writes is read, in any case and category."""
        db, handler = self.ada_script.db, self.ada_script.attributes
        db.persona = "one"
        assert "one" == state.read(self.ada_script, "persona")
        handler.remove("persona")
        assert "" == state.read(self.ada_script, "persona")
        handler.add("Persona", "two")
        assert "two" == state.read(self.ada_script, "persona")
        handler.add("persona", "other", category="drafts")
        handler.reset_cache()
        assert ("two", "other") == (db.persona, handler.get("persona", category="drafts"))
        handler.clear()
        assert "" == state.read(self.ada_script, "persona")
        db.persona = "three"
        assert "three" == state.read(self.ada_script, "persona")
        Attribute.objects.get(db_key="persona").delete()
        assert "" == state.read(self.ada_script, "persona")

    def test_without_the_cache_the_database_is_asked(self) -> None:
        """A game may switch Evennia's attribute cache off."""
        with self.settings(TYPECLASS_AGGRESSIVE_CACHE=False):
            self.ada_script.attributes.reset_cache()
            assert "" == state.read(self.ada_script, "llm_provider")
