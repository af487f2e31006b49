"""After a mixed day every door shows the sums of the ledger, and of nothing else."""

import re
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple

from django.db.models import Count, Q, QuerySet, Sum
from django.test.utils import override_settings
from twisted.internet import reactor

from evennia_ai import consolidation, operations
from evennia_ai.agent import compaction
from evennia_ai.budget import ledger
from evennia_ai.budget.ledger.reservations import SHARE
from evennia_ai.core.safety.budget import CallState, Purpose
from evennia_ai.core.safety.prices import NANO
from evennia_ai.core.settings.budget import Scope
from evennia_ai.core.turn.conversation import OF, marked
from evennia_ai.errors import ModelStatusError
from evennia_ai.llm.scripted import completion
from evennia_ai.messages.incoming import person_of
from evennia_ai.models import BudgetTotal, ModelCall, PeerTask, TracedMessage
from evennia_ai.operations.budget.spending import BENCH, spending
from evennia_ai.operations.dry_runs.running import Trial, try_message
from evennia_ai.operations.rights.private_words import PrivateView
from evennia_ai.runtime import services, state
from evennia_ai.testing import calls
from tests.api.support import ApiTest
from tests.game.agent.compaction_case import turn_of
from tests.game.consolidation.sleep_model import NightModel
from tests.game.support import NOT_A_COMPLETION, pump, whispers
from tests.game.tasks.delegating import DelegationTest, hands_on, reports

PRICES = {"mini": {"input": 0.15, "output": 0.6}, "hashing-1": {"input": 0.02, "output": 0}}
CAPS = {"player": {"tokens_per_day": 100_000}, "calls_in_flight": 0}
# What calls for more than answers, and is in no turn.
BESIDE = (Purpose.EMBEDDING, Purpose.CHECK)
_SAMPLE = re.compile(r"^(\w+)(?:\{kind=\"(\w+)\"\})? ([0-9.e+-]+)$", re.MULTILINE)


class Sums(NamedTuple):
    """The sums of some calls."""

    calls: int
    prompt: int
    completion: int
    nano: int
    unpriced: int


def summed(calls: QuerySet[ModelCall], *, is_persons: bool = False) -> Sums:
    """The sums of calls, in one statement; a person's price may be unknown for a share alone."""
    whole = ~Q(key__endswith=SHARE)
    row = calls.filter(state__in=(CallState.SETTLED, CallState.CUT_OFF)).aggregate(
        calls=Count("pk", filter=whole),
        prompt=Sum("prompt_tokens"),
        completion=Sum("completion_tokens"),
        nano=Sum("cost_nano"),
        unpriced=Count("pk", filter=(Q() if is_persons else whole) & Q(is_priced=False)),
    )
    return Sums(**{name: value or 0 for name, value in row.items()})


def of_row(row: Any) -> Sums:
    """The sums in a row of usage or spending."""
    return Sums(
        row["calls"],
        row["prompt_tokens"],
        row["completion_tokens"],
        round(row["cost_dollars"] * NANO),
        row["unpriced_calls"],
    )


@override_settings(
    EVENNIA_AI_PRICES=PRICES,
    EVENNIA_AI_BUDGET_CONFIG=CAPS,
    EVENNIA_AI_API_CONFIG={"writes_per_minute": 0, "metrics": "staff"},
    TIME_ZONE="UTC",
)
class TestDoors(DelegationTest, ApiTest):
    """A day with all that costs money."""

    environ: ClassVar[dict[str, str]] = {
        "EVENNIA_AI_MODEL": "mini",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "OPENAI_API_KEY": "none",
    }

    def setUp(self) -> None:
        super().setUp()
        self.clock.advance(reactor.seconds())
        services.memory()._embedder.is_paid = True
        self.addCleanup(services.memory.cache_clear)
        self.lock(self.brass)
        self.live()

    # ---- the day -------------------------------------------------------------------------------

    def live(self) -> None:
        """Let all of it happen."""
        ada, used = self.ada_script, {"prompt_tokens": 900, "completion_tokens": 60}
        self.ask("whisper Ada = hi", calls("look"), completion("Hello.", usage=used))
        # Refused by the service: no call. A reply that cannot be read: a call, and it is repeated.
        self.ask("whisper Ada = hi", ModelStatusError(400, "no"), person=self.mira)
        answers = (NOT_A_COMPLETION, whispers("Aye.", "Mira"))
        self.ask("whisper Ada = and?", *answers, person=self.mira)
        task = (hands_on(delegate="Brass"), reports(), completion("Seven lamps."))
        self.ask("whisper Ada = count them", *task)
        self.sum_up()
        self.refuse()
        self.hang_up()
        self.try_out()
        self.model.answers.extend(completion("ok", usage=used) for _ in range(9))
        operations.check_model(ada)
        pump()
        self.model.answers.clear()
        self.rest()
        ledger.store().flush()

    def sum_up(self) -> None:
        """A summary of two players' talk, by a model whose price is not known."""
        ada, people = self.ada_script, map(person_of, (self.tom, self.mira))
        history = [m for who in people for n in range(8) for m in marked(turn_of(n), OF, who)]
        ada.work.history = list(history)
        state.write(ada, conversation_history=history, compact_model="odd")
        self.model.answers.append(completion("Storms."))
        running = compaction.compact_conversation_history(ada)
        running.addErrback(lambda failure: failure.raiseException())
        pump()

    def refuse(self) -> None:
        """An answer that Mira's cap refuses, and a summary that Ada's does."""
        state.write(self.ada_script, safety_config={"on_limit": {"mode": "unattended"}})
        for own in ({"player": {"tokens_per_day": 5}}, {"assistant": {"tokens_per_day": 5}}):
            state.write(self.ada_script, budget_config=own)
            self.ask("whisper Ada = more", person=self.mira)
            compaction.compact_conversation_history(self.ada_script)
            pump()
        state.write(self.ada_script, budget_config={})

    def hang_up(self) -> None:
        """A call that a stop cuts off."""
        self.ask("whisper Ada = and now?")
        assert 1 == len(self.model.waiting)
        operations.stop(self.ada_script, "a test", by="Tom")
        pump()
        operations.clear(self.ada_script, by="Tom")
        pump()

    def try_out(self) -> None:
        """A message on the test bench."""
        self.model.answers.append(whispers("Hello."))
        trial, look = Trial("hello", "whisper", ""), PrivateView.of(self.tom)
        try_message(self.ada_script, self.tom, trial, None, look=look)
        pump()

    def rest(self) -> None:
        """A night, whose calls are nobody's."""
        model = NightModel()
        services.pool().set_transport(services.endpoint(), model)
        consolidation.put_to_sleep(self.ada_script, "a test")
        for _ in range(60):
            if not state.read(self.ada_script, "consolidation_progress")["step"]:
                break
            self.ada_script.at_repeat()
            pump()
            self.clock.advance(0)

    # ---- the doors -----------------------------------------------------------------------------

    def test_every_door_shows_the_sums_of_the_ledger(self) -> None:
        purposes = set(ModelCall.objects.values_list("purpose", flat=True))
        of_night = {Purpose.CONSOLIDATION, Purpose.IMPORTANCE}
        assert {Purpose.TURN, Purpose.SUMMARY, Purpose.BENCH, *BESIDE, *of_night} <= purposes
        for name, seen, expected in self.doors():
            with self.subTest(door=name):
                assert expected == seen

    def doors(self) -> Iterator[tuple[str, object, object]]:
        """The figures of each door, and what they have to be."""
        every = ModelCall.objects.all()
        for script in (self.ada_script, self.brass_script):
            name = str(script.key)
            own = every.filter(assistant=name.casefold())
            yield from self.doors_of(name, script, own, summed(own))
        yield from self.doors_of_game(every, summed(every))
        for being in (self.tom, self.mira):
            person = person_of(being)
            whose = f"people/account-{being.account.pk}/budget/"
            expected = summed(every.filter(person=person), is_persons=True)
            yield whose, self.caps(self.get(whose)["standings"]), self.two(expected)
        sums = summed(every.filter(person=person_of(self.mira)), is_persons=True)
        yield "peers", self.peer(), (sums.prompt + sums.completion, sums.nano, sums.unpriced)
        yield "totals", list(self.totals()), []

    def doors_of(
        self, name: str, script: Any, own: QuerySet[ModelCall], sums: Sums
    ) -> Iterator[tuple[str, object, object]]:
        usage, status = (self.get(f"assistants/{name}/{part}/") for part in ("usage", "status"))
        for span in ("today", "month", "ever"):
            yield f"usage of {name}, {span}", of_row(usage["totals"][span]), sums
        tokens = sums.prompt + sums.completion
        yield f"status of {name}", (status["calls"], status["tokens"]), (sums.calls, tokens)
        yield f"today of {name}", status["today"].split()[0], f"{tokens:,}"
        yield f"caps of {name}", self.caps(usage["budget"]["standings"]), self.two(sums)
        shares = {row["person"]: row["share"] for row in usage["by_player"] if row["share"]}
        people = {row["person"] for row in own.values("person")}
        yield (
            f"people of {name}",
            shares,
            {
                p: round(self.tokens(own.filter(person=p)) / tokens, 4)
                for p in people
                if self.tokens(own.filter(person=p))
            },
        )
        seen = self.get(f"assistants/{name}/audit/state/")["state"]["usage"]
        inner = summed(own.exclude(purpose__in=BESIDE))
        yield (
            f"audit of {name}",
            seen,
            {
                "calls": inner.calls,
                "prompt_tokens": inner.prompt,
                "completion_tokens": inner.completion,
            },
        )
        turns = own.filter(purpose__in=(Purpose.TURN, Purpose.WRAP_UP, Purpose.DELEGATION))
        yield f"trace of {name}", self.traced(script), summed(turns)

    def doors_of_game(
        self, every: QuerySet[ModelCall], sums: Sums
    ) -> Iterator[tuple[str, object, object]]:
        data = spending().data
        yield "spending", of_row(data.whole), sums
        yield "spending today", of_row(data.days[-1]), sums
        bench = Q(purpose=Purpose.BENCH)
        for side, column in (
            (data.assistants, "assistant"),
            (data.players, "person"),
            (data.models, "model"),
            (data.purposes, "purpose"),
        ):
            for row in side:
                part = every.filter(bench if row["key"] == BENCH else Q(**{column: row["key"]}))
                if row["key"] != BENCH and column in ("assistant", "person"):
                    part = part.exclude(bench)
                yield (
                    f"spending by {column} {row['key']}",
                    of_row(row),
                    summed(part, is_persons=column == "person"),
                )
        game = operations.budget_of(None).data
        yield "caps of the game", self.caps(game.standings), self.two(sums)
        trials = operations.budget_of(None, is_bench=True).data
        yield (
            "caps of the bench",
            self.caps(trials.standings),
            self.two(summed(every.filter(bench))),
        )
        text = self.call("GET", "metrics/").content.decode()
        samples = {(name, kind): float(value) for name, kind, value in _SAMPLE.findall(text)}
        yield (
            "metrics",
            (
                samples["evennia_ai_model_calls_total", ""],
                samples["evennia_ai_model_tokens_total", "prompt"],
                samples["evennia_ai_model_tokens_total", "completion"],
                round(samples["evennia_ai_model_cost_dollars_total", ""] * NANO),
            ),
            sums[:4],
        )

    def peer(self) -> tuple[int, int, int]:
        """What Mira's account used, as the list of external agents has it."""
        account, now = self.mira.account.pk, reactor.seconds()
        ids = {"id": "t1", "context": "c", "request": "r", "number": 1, "words": "[]"}
        times = {"made_at": now, "changed_at": now}
        whose = {"assistant": self.ada_script.pk, "account": account}
        PeerTask.objects.create(**ids, **times, **whose, state="completed")
        (row,) = self.get("peers/")["peers"]
        assert row["tokens_today"] == row["tokens_month"]
        return row["tokens_month"], round(row["cost_month"] * NANO), row["unpriced_calls"]

    def traced(self, script: Any) -> Sums:
        """The sums over the rows of `assistant why`."""
        names = ("calls", "prompt_tokens", "completion_tokens", "cost_nano", "unpriced_calls")
        rows = TracedMessage.objects.filter(assistant=script.pk)
        facts = [row.facts for row in rows]
        return Sums(*(sum(each.get(name, 0) for each in facts) for name in names))

    def caps(self, standings: Any) -> dict[str, tuple[float, int]]:
        """Tokens and money of each span; the minute counts calls."""
        return {
            row["name"]: (round(row["used"] * NANO), row["unpriced_calls"])
            if row["name"].startswith("cost")
            else (row["used"], 0)
            for row in standings
            if row["name"] != "calls_per_minute"
        }

    def two(self, sums: Sums) -> dict[str, tuple[int, int]]:
        money, tokens = (sums.nano, sums.unpriced), (sums.prompt + sums.completion, 0)
        return dict.fromkeys(("tokens_total", "tokens_per_day", "tokens_per_month"), tokens) | (
            dict.fromkeys(("cost_per_day", "cost_per_month"), money)
        )

    def tokens(self, calls: QuerySet[ModelCall]) -> int:
        sums = summed(calls)
        return sums.prompt + sums.completion

    def totals(self) -> Iterator[tuple[object, object]]:
        """The rows of totals that differ from the sum of their calls."""
        for row in BudgetTotal.objects.filter(period=""):
            calls = {
                Scope.GAME: Q(),
                Scope.BENCH: Q(purpose=Purpose.BENCH),
                Scope.ASSISTANT: Q(assistant=row.key),
                Scope.PLAYER: Q(person=row.key),
            }[Scope(row.scope)]
            sums = summed(ModelCall.objects.filter(calls))
            seen = (row.calls, row.prompt_tokens, row.completion_tokens, row.cost_nano)
            if seen != sums[:4] or row.held_tokens or row.open_calls:
                yield (row.scope, row.key, seen), sums[:4]
