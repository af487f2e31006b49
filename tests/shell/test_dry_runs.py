"""Messages that are tried: answered as real ones are, and then nothing of it has ever been."""

from __future__ import annotations

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
from tests.shell.remembering_case import RememberingTest, audit_rows
from tests.shell.support import calls, pump, says, whispers

SECRET = "xylophone"
# All that a trial writes: what it cost, and one fact.
WRITES = (ModelCall, BudgetTotal, RecordedEvent)


def everything() -> dict[str, list[str]]:
    """All rows of all other tables."""
    ledger.store().flush()
    audit.flush()
    tables = (model for model in apps.get_models() if model not in WRITES)
    return {each.__name__: sorted(map(repr, each.objects.values_list())) for each in tables}


def facts() -> list[str]:
    """The names of all facts on record, the oldest first."""
    audit.flush()
    return list(RecordedEvent.objects.order_by("pk").values_list("event", flat=True))


class DryRunTest(RememberingTest):
    """Tom, who is staff, tries messages on Ada."""

    def begin(self, trial: Trial, variant: Variant | None = None, **look: Any) -> list[Any]:
        """A trial that goes on; what came of it is put into the list."""
        outcome: list[Any] = []
        looking = PrivateView.of(self.tom, **look)
        trying: Deferred[Any] = try_message(self.ada_script, self.tom, trial, variant, look=looking)
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
        """A trial that is over, whatever came of it."""
        self.model.answers.extend(answers)
        (outcome,) = self.begin(Trial(words, way, person), variant, is_revealing=reveals)
        tried: Result[DryRun] = outcome
        return tried

    def side(self, words: str, *answers: bytes | Exception, **options: Any) -> DrySide:
        """The one side of a trial."""
        (side,) = self.attempt(words, *answers, **options).data.sides
        return side

    def prompts(self) -> str:
        """All that the model was sent."""
        return str(self.model.bodies)


class TestWhoMay(DryRunTest):
    """A trial shows the prompt, so it takes the right to see that, and what each change takes."""

    def refused(self, variant: Variant | None = None, **look: Any) -> bool:
        """True where Mira, who may only run Ada, is told that she may not; no model is asked."""
        self.model.answers.append(whispers("Hello.", "Mira"))
        asked, outcome = len(self.model.bodies), []
        looking = PrivateView.of(self.mira, **look)
        trying: Deferred[Any] = try_message(
            self.ada_script, self.mira, Trial("hello"), variant, look=looking
        )
        trying.addCallback(outcome.append)
        pump()
        self.model.answers.clear()
        (tried,) = outcome
        is_asked = len(self.model.bodies) > asked
        assert is_asked is (tried.problem is not ProblemKind.FORBIDDEN)
        return not is_asked

    def test_whoever_may_only_run_her_tries_nothing(self) -> None:
        """By a lock of her body; no prompt, nobody's memories, no other model."""
        self.ada.locks.add(f"ai_control:perm(Admin) or id({self.mira.id})")
        assert not is_staff(self.mira)
        assert is_allowed("execute tool", self.mira, self.ada_script)
        assert not is_allowed("try messages", self.mira, self.ada_script)
        assert self.refused()
        assert self.refused(is_revealing=True)

    def test_each_change_takes_its_right(self) -> None:
        """Whoever may look and run, but neither set up nor reveal."""
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
    """Whatever the model wants."""

    def test_all_is_as_before(self) -> None:
        """Every row of every table, and all that she has in memory; but the money and one fact."""
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
        """With its arguments; what only reads was run."""
        side = self.side("get it", calls("look"), calls("get", item="lamp"))
        (deed,) = side.deeds
        assert ("get", "item: lamp", True) == (deed.tool, deed.told, deed.would)
        assert side.turn is not None
        looked = side.turn["steps"][1]
        assert ("tool", "look", "worked") == (looked["kind"], looked["name"], looked["state"])
        assert self.room1.key in looked["result"]

    def test_an_answer_is_told(self) -> None:
        """To whom, by which tool, and the words."""
        (answer,) = self.side("hello", whispers("Hello, Tom.")).deeds
        assert ("whisper", "target: Tom", "Hello, Tom.") == (answer.tool, answer.told, answer.words)

    def test_a_lock_holds(self) -> None:
        """What its body may not do is refused here as well."""
        self.ada.locks.add("tool_get:false()")
        side = self.side("get it", calls("get", item="lamp"), whispers("I may not."))
        assert ["whisper"] == [deed.tool for deed in side.deeds]

    def test_a_call_that_needs_a_yes_asks_nobody(self) -> None:
        """The page says that a person would be asked; no question is put."""
        own = {"dangerous_requires_confirm": True}
        state.write(self.ada_script, context_configs={"tick_event": own})
        side = self.side("get it", calls("get", item="lamp"), whispers("I asked."))
        (asked, _) = side.deeds
        assert ("get", False, "a person is asked first") == (asked.tool, asked.would, asked.how)
        assert () == approvals.stored(self.ada_script)

    def test_private_words_would_go_aside(self) -> None:
        """Said aloud after a whisper: only whoever asked would hear it."""
        (deed,) = self.side(f"my {SECRET}", says(f"Your {SECRET}!")).deeds
        assert "would go to whoever asked alone" in deed.how
        assert SECRET not in str(self.heard(self.mira))

    def test_the_last_word_after_a_limit(self) -> None:
        """A turn that runs into its limit ends as a real one does, and nobody is asked."""
        state.write(self.ada_script, safety_config={"loop": {"max_model_calls_per_tick": 1}})
        side = self.side("look", calls("look"), b"")
        assert "limit" in str(side.heard["steps"])
        assert () == approvals.stored(self.ada_script)


class TestMoney(DryRunTest):
    """Who pays."""

    def test_the_bench_pays(self) -> None:
        """Neither Tom nor Ada does; the whole game's count has it."""
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
        """Then nothing is sent, the setting is named, and Ada herself still answers."""
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
        """It is everybody's, the bench's too."""
        with override_settings(EVENNIA_AI_BUDGET_CONFIG={"game": {"tokens_per_day": 10}}):
            self.ada_script.work.drop_cached_settings()
            side = self.side("hello", whispers("never"))
        assert "EVENNIA_AI_BUDGET_CONFIG.game.tokens_per_day" in side.ended
        assert [] == self.model.bodies


class TestPrices(DryRunTest):
    """A model whose calls cost something."""

    environ: ClassVar[dict[str, str]] = {
        "EVENNIA_AI_MODEL": "dear",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
    }

    @override_settings(EVENNIA_AI_PRICES={"dear": {"input": 1000, "output": 1000}})
    def test_what_it_cost_is_told(self) -> None:
        """In money, where a price is set."""
        assert "$" in self.side("hello", whispers("Hello.")).cost

    def test_a_cap_on_its_money_needs_a_price(self) -> None:
        """It says which; what assistants do otherwise needs none."""
        with override_settings(EVENNIA_AI_BUDGET_CONFIG={"bench": {"cost_per_day": 1.0}}):
            self.ada_script.work.drop_cached_settings()
            assert "EVENNIA_AI_PRICES" in self.side("hello", whispers("never")).ended
            self.model.answers.clear()
            self.ask("whisper Ada = hello", whispers("Hello, Tom."))
            self.assert_heard(self.tom, "Hello, Tom.")


class TestAsWhom(DryRunTest):
    """Whose private words are in it."""

    def setUp(self) -> None:
        """Both have told Ada a secret."""
        super().setUp()
        self.remember(f"Mira hides a {SECRET}.", self.miras)
        self.remember("Tom hides a marimba.", self.toms)
        self.ask(f"whisper Ada = I play the {SECRET}", whispers("Fine.", "Mira"), person=self.mira)
        self.model.bodies.clear()

    def test_as_oneself(self) -> None:
        """One's own memories, and nobody else's."""
        run = self.attempt("what do I hide? marimba or xylophone?", whispers("A marimba.")).data
        assert not run.is_stranger
        assert "Tom hides a marimba" in self.prompts()
        assert "hides a xylophone" not in self.prompts()

    def test_as_somebody_else(self) -> None:
        """By the name, and with nothing private of theirs: not in the prompt, nor by a tool."""
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
        """With all that is theirs, and that is on record, by whom and of whom."""
        known = facts()
        run = self.attempt(
            "what do I hide? " + SECRET, whispers("It.", "Mira"), person="Mira", reveals=True
        ).data
        assert not run.is_stranger
        assert "hides a xylophone" in self.prompts()
        assert ["message_tried", "words_revealed"] == facts()[len(known) :]

    def test_who_tried_is_on_record_without_words(self) -> None:
        """As whom, by which way, and what beside it."""
        self.attempt(f"my {SECRET} words", whispers("Yes.", "Mira"), person="Mira")
        (entry,) = audit_rows(self.ada_script, "message_tried")
        told = {"person": "Mira", "way": "whisper", "beside": "nothing", "by": "Tom"}
        assert told.items() <= entry.details.items()
        assert SECRET not in str(entry)

    def test_nobody_of_that_name(self) -> None:
        """It says what to type."""
        tried = self.attempt("hello", person="Nobody")
        assert ProblemKind.NOT_FOUND is tried.problem
        assert "player's or a character's name" in tried.message

    def test_an_assistant_is_no_person(self) -> None:
        """Another assistant's words are not tried."""
        assert "is an assistant" in self.attempt("hello", person="Ada").message


class TestWays(DryRunTest):
    """How it is said."""

    def test_aloud_without_her_name(self) -> None:
        """She would not answer, and the rule says why; no model is asked."""
        side = self.side("nice weather", way="say")
        assert not side.would_answer
        assert [] == self.model.bodies
        assert side.heard["rule_name"]

    def test_aloud_with_her_name(self) -> None:
        """She would, with the trust and the rule of a real message."""
        side = self.side("Ada, hello", says("Hello."), way="say")
        assert ("direct_address", "trigger") == (side.heard["rule_name"], side.heard["outcome"])
        assert "Hello." == side.deeds[0].words

    def test_on_a_channel(self) -> None:
        """The channels that she listens to are among the ways."""
        create.create_channel("Public")
        assert operations.set_channel(self.ada_script, "Public", "trigger").ok
        assert "channel Public" in ways(self.ada_script)
        side = self.side(
            "Ada, hi", calls("channel", channel="Public", message="Hi."), way="channel Public"
        )
        assert "channel" == side.heard["source"]

    def test_an_unknown_way(self) -> None:
        """It says which there are."""
        assert "there are whisper" in self.attempt("hello", way="shout").message

    def test_no_words(self) -> None:
        """Nor only markup."""
        for words in ("", "   ", "|r|n"):
            assert ProblemKind.INVALID is self.attempt(words).problem

    def test_too_many_words(self) -> None:
        """How many are too many is said."""
        assert "up to 4,000 can be tried" in self.attempt("x" * 4_001).message


class TestBeside(DryRunTest):
    """The second side."""

    def sides(self, variant: Variant, *answers: bytes) -> tuple[DrySide, DrySide]:
        """Both of them."""
        tried = self.attempt("hello", *answers, variant=variant)
        assert tried.ok, tried.message
        (first, second) = tried.data.sides
        return first, second

    def test_another_persona(self) -> None:
        """Side by side; hers is what it was."""
        before = state.read(self.ada_script, "persona")
        variant = Variant(part="persona", text="You are a pirate called Ada.")
        _, second = self.sides(variant, whispers("Good day."), whispers("Arr!"))
        assert "with another persona" == second.title
        assert "Arr!" == second.deeds[0].words
        assert "pirate" not in str(self.model.bodies[0])
        assert "pirate" in str(self.model.bodies[1])
        assert before == state.read(self.ada_script, "persona")

    def test_another_component(self) -> None:
        """Any text of the prompt."""
        text = texts_of(self.ada_script).data[-1]
        variant = Variant(part=text.part, text="Speak in riddles only.")
        self.sides(variant, whispers("Good day."), whispers("What has roots?"))
        assert "riddles" not in str(self.model.bodies[0])
        assert "riddles" in str(self.model.bodies[1])

    def test_another_model(self) -> None:
        """It is the one that is asked on that side."""
        _, second = self.sides(Variant(model="scripted other"), whispers("a"), whispers("b"))
        assert second.title.startswith("with ")
        assert self.ada_script.endpoint().model == "scripted"

    def test_as_it_was(self) -> None:
        """With the persona of then; what cannot be had back is said."""
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
        """Each says what is wrong, and nothing is asked."""
        for variant, told in (
            (Variant(moment="once upon"), ""),
            (Variant(model="a b c"), "The other model"),
            (Variant(part="no such", text="x"), "there is no text"),
            (Variant(part="persona", text="x" * 20_001), "up to 20,000"),
        ):
            tried = self.attempt("hello", variant=variant)
            assert not tried.ok
            assert told in tried.message
        assert [] == self.model.bodies


class TestEnd(DryRunTest):
    """Trials that do not go well."""

    def test_a_stop_cancels_it(self) -> None:
        """The call is dropped, and whoever tried is told."""
        outcome = self.begin(Trial("hello"))
        assert [] == outcome
        operations.stop(self.ada_script, "enough")
        pump()
        assert ProblemKind.CONFLICT is outcome[0].problem
        assert 1 == self.model.cancelled

    def test_not_while_it_is_stopped(self) -> None:
        """Nothing is sent for one that is stopped, from here neither."""
        operations.stop(self.ada_script, "enough")
        tried = self.attempt("hello", whispers("never"))
        assert ProblemKind.CONFLICT is tried.problem
        assert "Clear the stop first" in tried.message
        assert [] == self.model.bodies

    def test_a_silent_one_can_be_tried(self) -> None:
        """Before it is started; that real messages are not answered is said."""
        operations.set_enabled(self.ada_script, False)
        side = self.side("hello", whispers("Hello."))
        assert "not enabled" in str(side.heard["steps"])
        assert side.deeds

    def test_it_takes_no_longer_than_it_may(self) -> None:
        """What came by then is shown."""
        outcome = self.begin(Trial("hello"))
        self.advance(running.LONGEST_SECONDS + 1)
        (side,) = outcome[0].data.sides
        assert "cut off after 50 seconds" in side.ended
        assert "hello" in str(side.turn)

    def test_a_model_that_fails(self) -> None:
        """It says so; Ada's own count of errors is as it was."""
        side = self.side("hello", ModelStatusError(400, "no such model"))
        assert "no such model" in side.ended
        assert 0 == state.read(self.ada_script, "consecutive_errors")

    def test_no_more_than_two_at_once(self) -> None:
        """A third one is told to wait; when one has ended there is room."""
        self.begin(Trial("one"))
        self.begin(Trial("two"))
        assert ProblemKind.UNAVAILABLE is self.attempt("three").problem
        self.model.answer(whispers("One."))
        pump()
        assert self.attempt("three", whispers("Three.")).ok
