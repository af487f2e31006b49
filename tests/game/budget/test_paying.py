"""Embeddings that cost money: reserved, settled and capped as other calls are."""

import os
from unittest import mock

from django.test.utils import override_settings

from evennia_ai.budget import ledger
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.errors import MemoryStoreError
from evennia_ai.memory import indexing
from evennia_ai.memory_store.batch_embedding import EndpointEmbedder
from evennia_ai.models import ModelCall
from evennia_ai.runtime import services, state
from tests.game.memory.memory_case import MemoryTest


class TestPaying(MemoryTest):
    def setUp(self) -> None:
        super().setUp()
        services.memory()._embedder.is_paid = True

    def calls(self) -> list[tuple[str, str, str, int]]:
        """The person, purpose, state and tokens of each call in the ledger."""
        ledger.store().flush()
        rows = ModelCall.objects.order_by("at", "key")
        return [(c.person, c.purpose, c.state, c.prompt_tokens) for c in rows]

    def test_what_is_read_and_looked_for_is_counted(self) -> None:
        """Indexing is charged to nobody, and a search to the person who is answered."""
        self.remember("The boat Heron.")
        self.clock.advance(1)
        assert 1 == len(self.search())
        assert [
            ("", "embedding", "settled", 4),
            ("*#1", "embedding", "settled", 3),
        ] == self.calls()

    def test_other_scripts_are_counted_as_a_model_reads_them(self) -> None:
        """Chinese has about a token for each character, not a quarter of one."""
        self.remember("船在港口里等着。")
        ((*_, tokens),) = self.calls()
        assert 6 <= tokens <= 10

    def test_over_a_cap_words_find_it(self) -> None:
        state.write(self.ada_script, budget_config={"assistant": {"tokens_per_day": 1}})
        self.remember("The boat Heron.")
        assert 1 == len(self.search())
        assert ([], 1) == (self.calls(), indexing.status(self.ada_script).waiting)
        state.write(self.ada_script, budget_config={})
        self.clock.advance(5)
        assert 1 == len(self.search())

    def test_staff_are_told_of_a_cap_that_a_search_nearly_uses_up(self) -> None:
        """Once a day, so nobody would hear of it from the next call of a model."""
        state.write(self.ada_script, budget_config={"assistant": {"tokens_per_day": 8}})
        self.account.permissions.add("Admin")
        self.remember("The boat Heron.")
        with mock.patch.object(self.account, "msg") as told:
            self.search()
        (line,) = [call.args[0] for call in told.call_args_list]
        assert "7 of 8 tokens are used. Look: assistant budget Ada" in line, line

    def test_a_price_that_nobody_knows(self) -> None:
        """With a cap on cost, a model without a price is not used."""
        state.write(self.ada_script, budget_config={"assistant": {"cost_per_day": 1}})
        self.remember("The boat Heron.")
        assert 1 == len(self.search())
        assert [] == self.calls()
        with self.settings(EVENNIA_AI_PRICES={"hashing-1": {"input": 1, "output": 0}}):
            assert 1 == len(self.search())
        assert 1 == len(self.calls())

    def test_the_price_is_found_by_the_name_of_the_model(self) -> None:
        """It may have a slash in it, and the address of its API does not matter."""
        state.write(self.ada_script, budget_config={"assistant": {"cost_per_day": 1}})
        down = mock.Mock(side_effect=MemoryStoreError("down"))
        self.enterContext(mock.patch.object(EndpointEmbedder, "_ask", down))
        for name in ("text-embedding-3-small", "BAAI/bge-m3"):
            environ = {
                "EVENNIA_AI_EMBEDDINGS": "endpoint",
                "EVENNIA_AI_EMBEDDINGS_URL": "https://api.example/v1",
                "EVENNIA_AI_EMBEDDING_MODEL": name,
            }
            prices = {name: {"input": 1, "output": 0}}
            with (
                self.subTest(name),
                mock.patch.dict(os.environ, environ),
                self.settings(EVENNIA_AI_PRICES=prices),
            ):
                services.memory.cache_clear()
                self.remember("The boat Heron.")
                ledger.store().flush()
                rows = ModelCall.objects.order_by("at", "key").values_list("model", "is_priced")
                assert (f"embedding/{name}", True) == rows.last()

    @override_settings(EVENNIA_AI_BUDGET_CONFIG={"calls_in_flight": 1})
    def test_without_a_free_call_words_find_it(self) -> None:
        """While other calls take all of `calls_in_flight`, it is as over a cap."""
        self.ada_script.work.drop_cached_settings()
        billing, config = ledger.BillingContext("Ada"), state.budget_config(self.ada_script)
        estimate = ledger.CostEstimate(TokenUsage(10))
        other = ledger.store().reserve(billing, estimate, config, self.clock.seconds())
        self.remember("The boat Heron.")
        assert 1 == len(self.search())
        assert 1 == indexing.status(self.ada_script).waiting
        ledger.store().release(other, self.clock.seconds())
        self.advance(indexing.LONGEST_WAIT_SECONDS)
        assert 0 == indexing.status(self.ada_script).waiting

    @override_settings(EVENNIA_AI_BUDGET_CONFIG={"game": {"tokens_per_day": 1}})
    def test_wrong_limits_lift_no_cap(self) -> None:
        """With limits that cannot be read nothing is paid for, whatever the game's caps are."""
        self.ada_script.attributes.add("safety_config", {"loop": {"max_own_turns": "many"}})
        self.ada_script.work.drop_cached_settings()
        self.remember("The boat Heron.")
        assert 1 == len(self.search())
        assert ([], 1) == (self.calls(), indexing.status(self.ada_script).waiting)

    def test_nothing_is_paid_where_nothing_can_be_found(self) -> None:
        """An empty memory is not searched by vectors."""
        assert [] == self.search()
        assert [] == self.calls()

    def test_what_is_broken_off_is_counted(self) -> None:
        """The service may charge for it."""
        self.remember("The boat Heron.")
        self.clock.advance(1)
        self.store.is_model_down = True
        assert 1 == len(self.search())
        assert [4, 3] == [tokens for *_, tokens in self.calls()]

    def test_nothing_is_counted_where_nothing_is_charged(self) -> None:
        services.memory()._embedder.is_paid = False
        self.remember("The boat Heron.")
        self.search()
        assert [] == self.calls()
        assert services.memory().paid is None
