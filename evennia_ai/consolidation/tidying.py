"""The last steps of a night: summarise conversations, prune, index, and report."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from evennia_ai.agent import compaction
from evennia_ai.consolidation.extraction import extract
from evennia_ai.consolidation.night import NightWork
from evennia_ai.consolidation.reflecting import importance_since
from evennia_ai.core.memory import night as rules
from evennia_ai.core.safety.audit_events import audit_event
from evennia_ai.core.turn.tokens import count_messages, estimate
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.memory import indexing, retention
from evennia_ai.memory_store import rows
from evennia_ai.runtime import state
from evennia_ai.tools.inner_calls import PutOffError


async def compact(night: NightWork) -> bool:
    """Step "compact": summarises older conversation, after extracting its facts.

    Raises:
        PutOffError: it could not be done.
    """
    script, asker = night.script, night.asker
    if asker is None:
        # Nothing to postpone: the embedded model is only shown a short conversation anyway.
        return False
    if not asker.has_room(count_messages(script.work.history, estimate)):
        raise PutOffError("the night's token_budget has no room for a summary")
    values: dict[str, Any] = {}

    def extra_values(used: TokenUsage) -> Mapping[str, Any]:
        asker.tokens += used.total_tokens
        # Stored in the transaction of the summary, so that it is never counted without it.
        values.update(night.moved({"summaries": 1}))
        return values

    keep = partial(extract, script, work=night)
    running = compaction.begin_if_due(
        script, asker.client, is_asleep=True, before=keep, extra_values=extra_values
    )
    if running is None:
        return False
    outcome = await running
    night.fence.check()
    if not outcome:
        asker.tokens += outcome.spent.usage.total_tokens
        raise PutOffError(outcome.detail)
    night.note_kept(values)
    return True


async def prune(night: NightWork) -> bool:
    """Step "prune": forgets a batch of overdue memories."""
    script = night.script
    keys = retention.overdue(script, script.clock.seconds())
    if not keys:
        return False
    event = audit_event("memories_forgotten", count=len(keys), why="age and number")

    def forget() -> None:
        rows.remove(script.pk, keys)

    night.save(event, extra_writes=forget, counted={"memories let go": len(keys)})
    indexing.soon(script)
    return True


async def index(night: NightWork) -> bool:
    """Step "index": processes the whole indexing queue, whose progress is in the table.

    Returns:
        False, as there are no results to store with the night.
    """
    await indexing.apply(night.script)
    night.fence.check()
    return False


async def end(night: NightWork) -> bool:
    """Step "end": stores a report of the night."""
    script = night.script
    before = state.read(script, "last_night")
    lasting = {name: before[name] for name in ("woke_at", "tools_used") if name in before}
    event = audit_event("night_completed", summary=rules.summary(night.progress))
    reflection = state.read(script, "reflection_state")
    reflection["cumulative_importance"] = importance_since(script)
    figures = dict(night.progress)
    last_night = {
        **lasting,
        **{name: figures[name] for name in ("night", "tokens", "counts", "put_off")},
        "at": script.clock.seconds(),
    }
    # Before storing, so that the stored progress says that nothing is left to do.
    night.go_on()
    night.save(event, last_night=last_night, reflection_state=reflection)
    return True
