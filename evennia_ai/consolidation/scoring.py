"""Step "score": the model rates the importance of journal entries, one audience at a time."""

from __future__ import annotations

from evennia_ai.consolidation.night import NightWork
from evennia_ai.core.memory.extraction import of_one_audience, read_scores, scoring_request
from evennia_ai.core.memory.recollection import MemoryKind
from evennia_ai.core.safety.budget import Purpose
from evennia_ai.core.turn.contexts import ContextType
from evennia_ai.memory_store import rows

BATCH = 20
# Rows read for a batch of one audience, between which are entries of others.
SCANNED = 400
GUESSED, JUDGED = "heuristic", "llm"


async def score(night: NightWork) -> bool:
    """Rate one batch of one audience. If the answer cannot be parsed, the heuristic value stays."""
    assistant = night.script.pk
    pending = rows.of(
        assistant, kind=MemoryKind.JOURNAL, importance_by=GUESSED, is_consolidated=False
    )
    unscored = list(pending.exclude(id__in=night.skipped).order_by("id")[:SCANNED])
    entries = of_one_audience(unscored, BATCH)
    if not entries:
        return False
    request = scoring_request([entry.text for entry in entries])
    reply = await night.ask(request, ContextType.SLEEP_CONSOLIDATE, Purpose.IMPORTANCE)
    scores = read_scores(reply, len(entries)) or {}

    def write() -> None:
        # Those that a person corrected meanwhile keep what they were given.
        still = {entry.key for entry in pending.filter(id__in=[entry.id for entry in entries])}
        for index, importance in scores.items():
            if (key := entries[index].key) in still:
                rows.change(assistant, key, importance=importance, importance_by=JUDGED)

    # Rated entries no longer match the query. Entries without a rating are skipped this night.
    unrated = [entry.id for index, entry in enumerate(entries) if index not in scores]
    night.save(extra_writes=write, skipped=unrated, counted={"entries scored": len(scores)})
    return True
