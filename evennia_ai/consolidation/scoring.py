"""Step "score": the model says how important entries of the journal are, each audience's apart."""

from __future__ import annotations

from evennia_ai.consolidation.night import NightWork
from evennia_ai.core.memory.extraction import of_one_audience, read_scores, scoring_request
from evennia_ai.core.memory.recollection import MemoryKind
from evennia_ai.core.safety.budget import Purpose
from evennia_ai.core.turn.contexts import ContextType
from evennia_ai.memory_store import rows

AT_ONCE = 20
# Far more than are shown at once: entries of other audiences stand between.
LOOKED_AT = 400
GUESSED, JUDGED = "heuristic", "llm"


async def score(night: NightWork) -> bool:
    """One batch, of what one audience may know. Where the answer is unreadable, the guess holds.

    Returns:
        Whether there was anything to do.
    """
    assistant, skipped = night.script.pk, night.cursor.get("skipped", [])
    pending = rows.of(
        assistant, kind=MemoryKind.JOURNAL, importance_by=GUESSED, is_consolidated=False
    )
    found = list(pending.exclude(id__in=skipped).order_by("id")[:LOOKED_AT])
    entries = of_one_audience(found, AT_ONCE)
    if not entries:
        return False
    asked = scoring_request([entry.text for entry in entries])
    reply = await night.ask(asked, ContextType.SLEEP_CONSOLIDATE, Purpose.IMPORTANCE)
    scores = read_scores(reply, len(entries)) or {}

    def write() -> None:
        for index, importance in scores.items():
            key = entries[index].key
            rows.change(assistant, key, importance=importance, importance_by=JUDGED)

    # What was judged is not looked for again; of the others this night has had its answer.
    left = [entry.id for index, entry in enumerate(entries) if index not in scores]
    night.keep(
        extra_writes=write,
        cursor={"skipped": [*skipped, *left]},
        counted={"entries scored": len(scores)},
    )
    return True
