"""What every test with a game does last: nothing of an assistant outlives its test.

Rows have the same numbers in each test. An assistant whose timer went on would write into the next
one's game.
"""

from __future__ import annotations

from evennia_ai import audit
from evennia_ai.agent import warming
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.budget import ledger
from evennia_ai.llm.token_counter import counter_for
from evennia_ai.runtime import services, turns
from evennia_ai.tasks import waiting


def end_assistants() -> None:
    """Stop all there are, also those that lost their tag; the rows are rolled back."""
    for script in AssistantScript.objects.all_family():
        script.stop()


def forget_process() -> None:
    """Forget what a process keeps beside the database, as one that has just begun."""
    services.pool.cache_clear()
    services.memory.cache_clear()
    ledger.start_anew()
    waiting.start_anew()
    audit.start_anew()
    turns.CHAINS.clear()
    warming.forget()
    # What a made-up usage taught the estimate is no matter of the next test.
    counter_for.cache_clear()
