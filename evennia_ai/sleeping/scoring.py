"""Step "score": the model says how important entries of the journal are."""

from __future__ import annotations

from evennia_ai.core.extraction import read_scores, scoring_request
from evennia_ai.core.recollection import MemoryKind
from evennia_ai.memory import rows
from evennia_ai.sleeping.night import Night

AT_ONCE = 20
GUESSED, JUDGED = "heuristic", "llm"


async def score(night: Night) -> bool:
    """One batch. Where the answer is unreadable, what was guessed at once holds.

    Returns:
        Whether there was anything to do.
    """
    assistant = night.script.pk
    pending = rows.of(
        assistant,
        kind=MemoryKind.JOURNAL,
        importance_by=GUESSED,
        is_consolidated=False,
        id__gt=night.cursor.get("after", 0),
    )
    entries = list(pending.order_by("id")[:AT_ONCE])
    if not entries:
        return False
    reply = await night.ask(scoring_request([entry.text for entry in entries]), "importance")
    scores = read_scores(reply, len(entries)) or {}

    def write() -> None:
        for index, importance in scores.items():
            key = entries[index].key
            rows.change(assistant, key, importance=importance, importance_by=JUDGED)

    after = {"after": entries[-1].id}
    night.keep(beside=write, cursor=after, counted={"entries scored": len(scores)})
    return True
