"""The model's own count in random walks, which finds a ledger that counts too little."""

from itertools import product

import pytest
from django.db import transaction
from django.db.models import F

from evennia_ai import operations
from evennia_ai.models import BudgetTotal, ModelCall
from tests.game.walks.accounts import ADDED, check_ledger
from tests.game.walks.case import WalkedCase
from tests.game.walks.world import World


def half_of_the_usage() -> None:
    rows = ModelCall.objects.filter(state="settled")
    rows.update(prompt_tokens=F("prompt_tokens") / 2, completion_tokens=F("completion_tokens") / 2)


def a_call_is_missing() -> None:
    ModelCall.objects.filter(state="settled").order_by("key")[:1].get().delete()


def a_summary_is_missing() -> None:
    ModelCall.objects.filter(purpose="summary").delete()


def what_was_cut_off_is_free() -> None:
    ModelCall.objects.filter(state="cut_off").update(state="released")


def what_was_cut_off_counts_nothing() -> None:
    rows = ModelCall.objects.filter(state="cut_off")
    rows.update(prompt_tokens=0, completion_tokens=0)


def one_too_many() -> None:
    row = ModelCall.objects.filter(state="settled").order_by("key")[:1].get()
    row.pk = "another"
    row.save(force_insert=True)


LIES = (
    half_of_the_usage,
    a_call_is_missing,
    a_summary_is_missing,
    what_was_cut_off_is_free,
    what_was_cut_off_counts_nothing,
    one_too_many,
)


class TestTill(WalkedCase):
    """A walk with every kind of cost: answers, a summary, a cut-off call, impossible usage."""

    def walked(self) -> World:
        world = self.begin()
        self.addCleanup(world.close)
        world.send("Tom", "Ada")
        world.answer("look")
        world.answer("answer")
        world.sum_up("Ada")
        while world.model.held:
            world.answer("text")
        world.send("Mira", "Ada")
        world.do(lambda script: operations.stop(script, "enough", by="Tom"), "Ada")
        world.do(operations.clear, "Ada")
        world.send("Tom", "Ada")
        world.answer("odd usage")
        world.drain()
        return world

    def test_hole_d30_the_model_counts_the_money(self) -> None:
        till = self.walked().model.till
        assert {"turn", "summary"} <= set(ModelCall.objects.values_list("purpose", flat=True))
        assert {"settled", "cut_off"} <= set(ModelCall.objects.values_list("state", flat=True))
        till.check()
        for lie in LIES:
            with self.subTest(lie.__name__), transaction.atomic():
                lie()
                with pytest.raises(AssertionError):
                    till.check()
                transaction.set_rollback(True)
        till.check()

    def test_a_total_that_is_not_the_sum_of_its_calls_is_found(self) -> None:
        self.walked()
        check_ledger()
        totals = BudgetTotal.objects.filter(period="")
        for scope, name in product(("game", "assistant", "player"), ADDED):
            with self.subTest(scope=scope, name=name), transaction.atomic():
                row = totals.filter(scope=scope)[:1].get()
                totals.filter(pk=row.pk).update(**{name: F(name) + 1})
                with pytest.raises(AssertionError, match=f"^{scope}: "):
                    check_ledger()
                totals.filter(pk=row.pk).update(**{name: -1})
                with pytest.raises(AssertionError, match=r"^a counter is negative"):
                    check_ledger()
                transaction.set_rollback(True)
