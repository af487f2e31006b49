"""Dry runs: messages answered as real ones are, without any lasting effect."""

from copy import deepcopy
from typing import Any, ClassVar

from django.apps import apps
from django.test import override_settings
from evennia.utils import create
from twisted.internet.defer import Deferred

from evennia_ai import approvals, audit, operations
from evennia_ai.budget import ledger
from evennia_ai.budget.ledger.reading import read_total
from evennia_ai.core.safety.budget import BudgetAccount
from evennia_ai.core.settings.budget import Measure, Scope
from evennia_ai.errors import ModelStatusError
from evennia_ai.models import BudgetTotal, ModelCall, RecordedEvent
from evennia_ai.operations.dry_runs import running
from evennia_ai.operations.dry_runs.changes import Variant, texts_of
from evennia_ai.operations.dry_runs.results import DrySide
from evennia_ai.operations.dry_runs.running import DryRun, Trial, try_message, ways
from evennia_ai.operations.result import ProblemKind, Result
from evennia_ai.operations.rights import is_allowed, is_staff
from evennia_ai.operations.rights.private_words import PrivateView
from evennia_ai.operations.settings.changing import update_settings
from evennia_ai.runtime import state
from tests.game.memory.remembering_case import RememberingTest, audit_rows
from tests.game.support import calls, pump, says, whispers

SECRET = "xylophone"
# A trial writes only its cost and one audit fact.
WRITES = (ModelCall, BudgetTotal, RecordedEvent)


def everything() -> dict[str, list[str]]:
    """All rows of all tables other than those that a trial writes."""
    ledger.store().flush()
    audit.flush()
    tables = (model for model in apps.get_models() if model not in WRITES)
    return {each.__name__: sorted(map(repr, each.objects.values_list())) for each in tables}


def facts() -> list[str]:
    """Names of all recorded facts, oldest first."""
    audit.flush()
    return list(RecordedEvent.objects.order_by("pk").values_list("event", flat=True))


class DryRunTest(RememberingTest):
    """Tom, who is staff, tries messages on Ada."""

    def begin(
        self, trial: Trial, variant: Variant | None = None, *, by: Any = None, **look: Any
    ) -> list[Any]:
        outcome: list[Any] = []
        by = by or self.tom
        looking = PrivateView.of(by, **look)
        trying: Deferred[Any] = try_message(self.ada_script, by, trial, variant, look=looking)
        trying.addCallback(outcome.append)
        pump()
        return outcome

    def attempt(
        self,
        words: str,
        *answers: bytes | Exception,
        way: str = "whisper",
        person: str = "",
        variant: Variant | None = None,
        reveals: bool = False,
    ) -> Result[DryRun]:
        self.model.answers.extend(answers)
        (outcome,) = self.begin(Trial(words, way, person), variant, is_revealing=reveals)
        return outcome

    def side(self, words: str, *answers: bytes | Exception, **options: Any) -> DrySide:
        """Run a trial without a variant and return its only side."""
        (side,) = self.attempt(words, *answers, **options).data.sides
        return side

    def prompts(self) -> str:
        return str(self.model.bodies)


class TestWhoMay(DryRunTest):
    """A trial shows the prompt, so it needs the right to see it and the right for each change."""

    def refused(self, variant: Variant | None = None, **look: Any) -> bool:
        """True if the trial is forbidden to Mira; also checks that no model was asked then."""
        self.model.answers.append(whispers("Hello.", "Mira"))
        asked = len(self.model.bodies)
        (tried,) = self.begin(Trial("hello"), variant, by=self.mira, **look)
        self.model.answers.clear()
        is_asked = len(self.model.bodies) > asked
        assert is_asked is (tried.problem is not ProblemKind.FORBIDDEN)
        return not is_asked

    def test_whoever_may_only_run_her_tries_nothing(self) -> None:
        """The right to run Ada would otherwise reveal her prompt and other people's memories."""
        self.ada.locks.add(f"ai_control:perm(Admin) or id({self.mira.id})")
        assert not is_staff(self.mira)
        assert is_allowed("execute tool", self.mira, self.ada_script)
        assert not is_allowed("try messages", self.mira, self.ada_script)
        assert self.refused()
        assert self.refused(is_revealing=True)

    def test_each_change_takes_its_right(self) -> None:
        self.account2.permissions.clear()
        self.account2.permissions.add("Builder")
        self.ada.locks.add(f"ai_control:id({self.mira.id})")
        self.ada.locks.add("ai_configure:perm(Admin)")
        assert not self.refused()
        part = texts_of(self.ada_script).data[0].part
        for variant in (Variant(part=part, text="You are a pirate."), Variant(model="scripted")):
            assert self.refused(variant)
        assert not self.refused(is_revealing=True)
        self.ada.locks.add("ai_control:perm(Admin)")
        assert self.refused(is_revealing=True)


class TestNothingIsDone(DryRunTest):
    def test_all_is_as_before(self) -> None:
        """A trial changes no row and no state in memory but its cost and one audit fact."""
        self.ask("whisper Ada = my name is Tom", whispers("Hello, Tom."))
        self.remember("Tom likes tea.", self.toms)
        self.forget()
        work = self.ada_script.work
        before, known = everything(), facts()
        memory = deepcopy([work.history, work.inbox, work.executions, work.usage, work.senders])
        self.attempt(
            "do all that you can",
            calls("write_note", text="a note"),
            calls("store_memory", text="Tom likes coffee."),
            calls("add_journal_entry", text="Tom was here."),
            calls("recall_memories", query="tea"),
            calls("get", item="lamp"),
        )
        self.attempt("say it", says("Hear, hear!"))
        assert before == everything()
        after = [work.history, work.inbox, work.executions, work.usage, work.senders]
        assert repr(memory) == repr(after)
        assert 1 == len(work.recorded.newest())
        assert ["message_tried"] * 2 == facts()[len(known) :]
        for person in (self.tom, self.mira):
            assert "Hear, hear!" not in str(self.heard(person))

    def test_what_it_would_do_is_told(self) -> None:
        """Tools that only read are really run; others are listed with their arguments."""
        side = self.side("get it", calls("look"), calls("get", item="lamp"))
        (deed,) = side.deeds
        assert ("get", "item: lamp", True) == (deed.tool, deed.told, deed.would)
        assert side.turn is not None
        looked = side.turn["steps"][1]
        assert ("tool", "look", "worked") == (looked["kind"], looked["name"], looked["state"])
        assert self.room1.key in looked["result"]

    def test_an_answer_is_told(self) -> None:
        (answer,) = self.side("hello", whispers("Hello, Tom.")).deeds
        assert ("whisper", "target: Tom", "Hello, Tom.") == (answer.tool, answer.told, answer.words)

    def test_a_lock_holds(self) -> None:
        self.ada.locks.add("tool_get:false()")
        side = self.side("get it", calls("get", item="lamp"), whispers("I may not."))
        assert ["whisper"] == [deed.tool for deed in side.deeds]

    def test_a_call_that_needs_a_yes_asks_nobody(self) -> None:
        own = {"dangerous_requires_confirm": True}
        state.write(self.ada_script, context_configs={"tick_event": own})
        side = self.side("get it", calls("get", item="lamp"), whispers("I asked."))
        (asked, _) = side.deeds
        assert ("get", False, "a person is asked first") == (asked.tool, asked.would, asked.how)
        assert () == approvals.stored(self.ada_script)

    def test_private_words_would_go_aside(self) -> None:
        """A public answer to a whisper would be redirected to the person who asked."""
        (deed,) = self.side(f"my {SECRET}", says(f"Your {SECRET}!")).deeds
        assert "would go to whoever asked alone" in deed.how
        assert SECRET not in str(self.heard(self.mira))

    def test_the_last_word_after_a_limit(self) -> None:
        state.write(self.ada_script, safety_config={"loop": {"max_model_calls_per_tick": 1}})
        side = self.side("look", calls("look"), b"")
        assert "limit" in str(side.heard["steps"])
        assert () == approvals.stored(self.ada_script)


class TestMoney(DryRunTest):
    def test_the_bench_pays(self) -> None:
        self.side("hello", whispers("Hello."))
        ledger.store().flush()
        (call,) = ModelCall.objects.all()
        assert ("", "", "bench") == (call.assistant, call.person, call.purpose)
        used = {
            scope: read_total(BudgetAccount(scope, key, "")).used(Measure.TOKENS)
            for scope, key in (
                (Scope.BENCH, ""),
                (Scope.GAME, ""),
                (Scope.ASSISTANT, "ada"),
                (Scope.PLAYER, self.toms),
            )
        }
        tokens = used[Scope.BENCH]
        assert tokens > 0
        assert [tokens, tokens, 0, 0] == list(used.values())

    def test_its_purse_has_an_end(self) -> None:
        """When the bench's budget is spent nothing is sent, but Ada still answers players."""
        bench = {"bench": {"tokens_per_day": 10}}
        with override_settings(EVENNIA_AI_BUDGET_CONFIG=bench):
            self.ada_script.work.drop_cached_settings()
            side = self.side("hello", whispers("never"))
            assert "EVENNIA_AI_BUDGET_CONFIG.bench.tokens_per_day" in side.ended
            assert [] == self.model.bodies
            self.model.answers.clear()
            self.ask("whisper Ada = hello", whispers("Hello, Tom."))
            self.assert_heard(self.tom, "Hello, Tom.")

    def test_the_whole_games_cap_holds(self) -> None:
        with override_settings(EVENNIA_AI_BUDGET_CONFIG={"game": {"tokens_per_day": 10}}):
            self.ada_script.work.drop_cached_settings()
            side = self.side("hello", whispers("never"))
        assert "EVENNIA_AI_BUDGET_CONFIG.game.tokens_per_day" in side.ended
        assert [] == self.model.bodies


class TestPrices(DryRunTest):
    environ: ClassVar[dict[str, str]] = {
        "EVENNIA_AI_MODEL": "dear",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
    }

    @override_settings(EVENNIA_AI_PRICES={"dear": {"input": 1000, "output": 1000}})
    def test_what_it_cost_is_told(self) -> None:
        assert "$" in self.side("hello", whispers("Hello.")).cost

    def test_a_cap_on_its_money_needs_a_price(self) -> None:
        """The missing setting is named; ordinary turns do not need it."""
        with override_settings(EVENNIA_AI_BUDGET_CONFIG={"bench": {"cost_per_day": 1.0}}):
            self.ada_script.work.drop_cached_settings()
            assert "EVENNIA_AI_PRICES" in self.side("hello", whispers("never")).ended
            self.model.answers.clear()
            self.ask("whisper Ada = hello", whispers("Hello, Tom."))
            self.assert_heard(self.tom, "Hello, Tom.")


class TestAsWhom(DryRunTest):
    def setUp(self) -> None:
        """Both Tom and Mira have told Ada a secret."""
        super().setUp()
        self.remember(f"Mira hides a {SECRET}.", self.miras)
        self.remember("Tom hides a marimba.", self.toms)
        self.ask(f"whisper Ada = I play the {SECRET}", whispers("Fine.", "Mira"), person=self.mira)
        self.model.bodies.clear()

    def test_as_oneself(self) -> None:
        run = self.attempt("what do I hide? marimba or xylophone?", whispers("A marimba.")).data
        assert not run.is_stranger
        assert "Tom hides a marimba" in self.prompts()
        assert "hides a xylophone" not in self.prompts()

    def test_as_somebody_else(self) -> None:
        """The other person's private words appear neither in the prompt nor by a tool."""
        words = "what do I hide, what do I play?"
        run = self.attempt(
            words,
            calls("recall_memories", query="what Mira hides"),
            calls("search_journal", words="hides"),
            whispers("I know nothing.", "Mira"),
            person="Mira",
        ).data
        assert run.is_stranger
        assert "Mira" in self.prompts()
        assert SECRET not in self.prompts()
        assert SECRET not in str(run)
        assert "words_revealed" not in facts()

    def test_as_somebody_else_revealed(self) -> None:
        """Private words are included, and the record says who revealed them."""
        known = facts()
        run = self.attempt(
            "what do I hide? " + SECRET, whispers("It.", "Mira"), person="Mira", reveals=True
        ).data
        assert not run.is_stranger
        assert "hides a xylophone" in self.prompts()
        assert ["message_tried", "words_revealed"] == facts()[len(known) :]

    def test_who_tried_is_on_record_without_words(self) -> None:
        self.attempt(f"my {SECRET} words", whispers("Yes.", "Mira"), person="Mira")
        (entry,) = audit_rows(self.ada_script, "message_tried")
        details = {"person": "Mira", "way": "whisper", "beside": "nothing", "by": "Tom"}
        assert details.items() <= entry.details.items()
        assert SECRET not in str(entry)

    def test_nobody_of_that_name(self) -> None:
        tried = self.attempt("hello", person="Nobody")
        assert ProblemKind.NOT_FOUND is tried.problem
        assert "player's or a character's name" in tried.message

    def test_an_assistant_is_no_person(self) -> None:
        assert "is an assistant" in self.attempt("hello", person="Ada").message


class TestWays(DryRunTest):
    def test_aloud_without_her_name(self) -> None:
        side = self.side("nice weather", way="say")
        assert not side.would_answer
        assert [] == self.model.bodies
        assert side.heard["rule_name"]

    def test_aloud_with_her_name(self) -> None:
        side = self.side("Ada, hello", says("Hello."), way="say")
        assert ("direct_address", "trigger") == (side.heard["rule_name"], side.heard["outcome"])
        assert "Hello." == side.deeds[0].words

    def test_on_a_channel(self) -> None:
        create.create_channel("Public")
        assert operations.set_channel(self.ada_script, "Public", "trigger").ok
        assert "channel Public" in ways(self.ada_script)
        side = self.side(
            "Ada, hi", calls("channel", channel="Public", message="Hi."), way="channel Public"
        )
        assert "channel" == side.heard["source"]

    def test_an_unknown_way(self) -> None:
        assert "there are whisper" in self.attempt("hello", way="shout").message

    def test_no_words(self) -> None:
        for words in ("", "   ", "|r|n"):
            assert ProblemKind.INVALID is self.attempt(words).problem

    def test_too_many_words(self) -> None:
        assert "up to 4,000 can be tried" in self.attempt("x" * 4_001).message


class TestBeside(DryRunTest):
    def sides(self, variant: Variant, *answers: bytes) -> tuple[DrySide, DrySide]:
        tried = self.attempt("hello", *answers, variant=variant)
        assert tried.ok, tried.message
        (first, second) = tried.data.sides
        return first, second

    def test_another_persona(self) -> None:
        before = state.read(self.ada_script, "persona")
        variant = Variant(part="persona", text="You are a pirate called Ada.")
        _, second = self.sides(variant, whispers("Good day."), whispers("Arr!"))
        assert "with another persona" == second.title
        assert "Arr!" == second.deeds[0].words
        assert "pirate" not in str(self.model.bodies[0])
        assert "pirate" in str(self.model.bodies[1])
        assert before == state.read(self.ada_script, "persona")

    def test_another_component(self) -> None:
        text = texts_of(self.ada_script).data[-1]
        variant = Variant(part=text.part, text="Speak in riddles only.")
        self.sides(variant, whispers("Good day."), whispers("What has roots?"))
        assert "riddles" not in str(self.model.bodies[0])
        assert "riddles" in str(self.model.bodies[1])

    def test_another_model(self) -> None:
        _, second = self.sides(Variant(model="scripted other"), whispers("a"), whispers("b"))
        assert second.title.startswith("with ")
        assert self.ada_script.endpoint().model == "scripted"

    def test_as_it_was(self) -> None:
        self.clock.advance(100)
        update_settings(self.ada_script, {"persona": "You are an old sailor."}, by="Tom")
        audit.flush()
        entry = audit.application().page(self.ada_script, limit=1)[0]
        update_settings(self.ada_script, {"persona": "You are a nun."}, by="Tom")
        variant = Variant(moment=entry.at.isoformat())
        tried = self.attempt("hello", whispers("Bless you."), whispers("Ahoy."), variant=variant)
        assert tried.ok, tried.message
        assert "nun" in str(self.model.bodies[0])
        assert "old sailor" in str(self.model.bodies[1])
        assert "Its memories, lore" in tried.data.notes[0]

    def test_wrong_changes_are_told(self) -> None:
        for variant, problem in (
            (Variant(moment="once upon"), ""),
            (Variant(model="a b c"), "The other model"),
            (Variant(part="no such", text="x"), "there is no text"),
            (Variant(part="persona", text="x" * 20_001), "up to 20,000"),
        ):
            tried = self.attempt("hello", variant=variant)
            assert not tried.ok
            assert problem in tried.message
        assert [] == self.model.bodies


class TestEnd(DryRunTest):
    def test_a_stop_cancels_it(self) -> None:
        outcome = self.begin(Trial("hello"))
        assert [] == outcome
        operations.stop(self.ada_script, "enough")
        pump()
        assert ProblemKind.CONFLICT is outcome[0].problem
        assert 1 == self.model.cancelled

    def test_not_while_it_is_stopped(self) -> None:
        operations.stop(self.ada_script, "enough")
        tried = self.attempt("hello", whispers("never"))
        assert ProblemKind.CONFLICT is tried.problem
        assert "Clear the stop first" in tried.message
        assert [] == self.model.bodies

    def test_a_silent_one_can_be_tried(self) -> None:
        operations.set_enabled(self.ada_script, False)
        side = self.side("hello", whispers("Hello."))
        assert "it is silenced" in str(side.heard["steps"])
        assert side.deeds

    def test_it_takes_no_longer_than_it_may(self) -> None:
        outcome = self.begin(Trial("hello"))
        self.advance(running.LONGEST_SECONDS + 1)
        (side,) = outcome[0].data.sides
        assert "cut off after 50 seconds" in side.ended
        assert "hello" in str(side.turn)

    def test_a_model_that_fails(self) -> None:
        side = self.side("hello", ModelStatusError(400, "no such model"))
        assert "no such model" in side.ended
        assert 0 == state.read(self.ada_script, "consecutive_errors")

    def test_no_more_than_two_at_once(self) -> None:
        self.begin(Trial("one"))
        self.begin(Trial("two"))
        assert ProblemKind.UNAVAILABLE is self.attempt("three").problem
        self.model_answers(whispers("One."))
        assert self.attempt("three", whispers("Three.")).ok
