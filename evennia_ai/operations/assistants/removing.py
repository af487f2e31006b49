"""Removal of all assistants, and of all that belongs to them, from a game that goes on without.

Afterwards nothing in the database refers to a class of this package, except in its own tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from django.conf import settings
from django.db import transaction
from evennia.utils import logger

from evennia_ai import assistant_character, audit
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.budget import ledger
from evennia_ai.budget.ledger import place
from evennia_ai.budget.ledger.outages import query_ledger
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.text.words import counted
from evennia_ai.core.typed_objects import Being
from evennia_ai.errors import ConfigurationError
from evennia_ai.memory import arriving
from evennia_ai.memory_store import rows
from evennia_ai.models import (
    AccessToken,
    CardFile,
    EntityProfile,
    Memory,
    ModelCall,
    PeerEvent,
    PeerHook,
    PeerTask,
    PendingTask,
    RecordedEvent,
    RecordedSnapshot,
    RemoteTask,
    StoredQuestion,
    ToolPin,
    WorkJob,
)
from evennia_ai.operations.assistants import leftovers
from evennia_ai.operations.assistants.lifecycle import FIRST_CHARACTER, end_assistant
from evennia_ai.operations.budget.days import spent_days
from evennia_ai.operations.naming import BODY_OF_ACCOUNT, list_assistants
from evennia_ai.operations.result import ProblemKind, Result
from evennia_ai.operations.settings.changing import signed
from evennia_ai.runtime import state

MOST_NAMED = 20
# What stays unless the records are emptied too, as `belongings` counts it.
OF_RECORDS = ("lore entries", "ledger calls", "audit events")
RECORDS = (RecordedEvent, RecordedSnapshot)
OF_ASSISTANTS = (AccessToken, ToolPin, PendingTask, PeerTask, PeerEvent, PeerHook, RemoteTask)
WHY = "all assistants are removed"
PUPPETED = (
    "Nothing is removed: someone controls the body of {names}; they have to leave it first (ooc)."
)
COMING = (
    "Nothing is removed: an assistant is being imported from another game, or the rest of one is "
    "being deleted; try again in a moment."
)
EMPTY = "Made plain characters of the game, which stay: {bodies}."
KEPT = (
    "The cost of model calls, the lore and the game's audit log stay in their tables. To empty "
    "these too: assistant remove all and records"
)
NEXT = (
    "To take the package out: evennia stop; where its tables are to go too, evennia migrate "
    "evennia_ai zero; take evennia_ai out of these lines of the game: {places}; pip uninstall "
    "evennia-ai; evennia start. Until then assistants can be made again."
)


@dataclass(frozen=True)
class Belongings:
    """Everything of this package in the game.

    Attributes:
        made: assistants whose body is deleted with them.
        adopted: assistants in NPCs of the game, which stay.
        empty: number of bodies without an assistant, which become characters of the game.
        counts: numbers of rows, by what they are.
    """

    made: list[AssistantScript]
    adopted: list[AssistantScript]
    empty: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def assistants(self) -> list[AssistantScript]:
        """All assistants."""
        return [*self.made, *self.adopted]


def belongings() -> Belongings:
    """Everything that would be removed."""
    known = list_assistants()
    adopted = [script for script in known if state.read(script, "adopted")]
    own = {script.obj.pk for script in known if script.obj is not None}
    empty = [body for body in leftovers.bodies() if body.pk not in own]
    counts = {
        "stray scripts": len(leftovers.stray_scripts(known)),
        "accounts": len(leftovers.accounts()),
        "memories": Memory.objects.exclude(assistant=rows.SHARED).count(),
        "profiles": EntityProfile.objects.count(),
        "lore entries": Memory.objects.filter(assistant=rows.SHARED).count(),
        "character cards": CardFile.objects.count(),
        "API tokens": AccessToken.objects.count(),
        "pinned tools": ToolPin.objects.count(),
        "ledger calls": _count_calls(),
        "audit events": RecordedEvent.objects.count(),
    }
    created = [script for script in known if script not in adopted]
    return Belongings(created, adopted, len(empty), counts)


def _count_calls() -> int:
    try:
        return int(query_ledger(ModelCall.objects.filter(game=place.game()).count))
    except ConfigurationError:
        return 0  # unknown now; if it cannot be emptied either, `_empty_records` reports it


def describe_removal(owned: Belongings, *, and_records: bool) -> str:
    """The question before a removal: what is deleted, with counts, and what stays."""
    gone = {what: n for what, n in owned.counts.items() if and_records or what not in OF_RECORDS}
    present = ", ".join(counted(count, what) for what, count in gone.items() if count)
    lines = [
        "Remove all assistants from this game, for good?",
        f"Deleted with their bodies: {_named(owned.made)}. Taken out of characters and objects of "
        f"the game, which stay: {_named(owned.adopted)}.",
        "Their conversations, memories, notes and goals are lost, and all API tokens end; the "
        "audit log of each is archived to a file.",
        f"Deleted too: {present}." if present else "Nothing else is left of them.",
        EMPTY.format(bodies=counted(owned.empty, "empty bodies")) if owned.empty else "",
        "The ledger, the audit log and the lore are emptied too." if and_records else KEPT,
    ]
    return " ".join(filter(None, lines))


def _named(scripts: Sequence[AssistantScript]) -> str:
    names = [str(script.key) for script in scripts]
    return f"{len(names)} ({_listed(names)})" if names else "none"


def _listed(names: list[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def refuse_removal(owned: Belongings) -> Result | None:
    """Refuse a removal while an import runs or a body is puppeted; else None."""
    if arriving.is_busy():
        return Result.conflict(COMING)
    bodies = [script.obj for script in owned.assistants if script.obj is not None]
    played = [str(body.key) for body in bodies if body.sessions.count()]
    if not played:
        return None
    return Result.conflict(PUPPETED.format(names=_listed(played)))


# ---- removing ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Removed:
    """The outcome of a removal.

    Attributes:
        removed, released: names of assistants.
        left: what could not be removed, in words.
        places: lines of the game's files that name the package.
    """

    removed: list[str]
    released: list[str]
    left: list[str]
    places: list[str]


def remove_all(*, by: str = "", and_records: bool = False) -> Result[Removed]:
    """Remove all assistants, their bodies, accounts, memories and tokens, and all leftovers.

    Each assistant is stopped and removed in a transaction of its own. One that cannot be removed
    is reported and does not keep the others. Adopted NPCs stay as they were before.

    Args:
        and_records: also empty the ledger, the audit log and lore.
    """
    owned = belongings()
    # Checked again, since minutes may have passed between the question and the yes.
    if refused := refuse_removal(owned):
        return refused
    left: list[str] = []
    with signed(by):
        removed = [str(s.key) for s in owned.made if _end(s, left)]
        released = [str(s.key) for s in owned.adopted if _end(s, left)]
        for script in leftovers.stray_scripts(list_assistants()):
            _try(script, script.delete, left)
        _clear_beings(left)
        _clear_values(left)
        _clear_tables(and_lore=and_records)
        leftovers.clear_marks()
        counts = {"removed": len(removed), "released": len(released), "and_records": and_records}
        audit.record("all_removed", audit.GAME, **counts)
        audit.flush()
        if and_records:
            _empty_records(left)
    places = leftovers.places_in_files()
    data = Removed(removed, released, left, places)
    return Result(
        not left, _message(data), data, ProblemKind.CONFLICT if left else ProblemKind.NONE
    )


def _end(script: AssistantScript, left: list[str]) -> bool:
    # The game's first character is needed by Evennia, even where it was made an assistant's body.
    name, body = str(script.key), script.obj
    is_adopted = bool(state.read(script, "adopted"))
    is_first = body is not None and body.dbref == FIRST_CHARACTER
    result = end_assistant(script, WHY, keeps_body=is_adopted or is_first)
    if not result.ok:
        left.append(f"{name} ({result.message})")
    return result.ok


def _clear_beings(left: list[str]) -> None:
    # What is left is swapped to the game's own classes: ours cannot be imported afterwards.
    for account in leftovers.accounts():
        # An assistant that could not be removed keeps its account and its body.
        body = account.attributes.get(BODY_OF_ACCOUNT)
        if getattr(body, "assistant_script", None) is None:
            _try(account, partial(leftovers.clear_accounts, account), left)
    for body in leftovers.bodies():
        if getattr(body, "assistant_script", None) is None:
            assistant_character.take_ears(body)
            plain = settings.BASE_CHARACTER_TYPECLASS
            _try(body, partial(body.swap_typeclass, plain, run_start_hooks=None), left)
    for being in leftovers.with_our_command_sets():
        _try(being, partial(leftovers.clear_sets, being), left)


def _clear_values(left: list[str]) -> None:
    # Only editors are ours to close; any other attribute belongs to the game, and is reported.
    for attribute in leftovers.pickled():
        holder = leftovers.holder_of(attribute)
        if holder is not None and attribute.db_key == leftovers.EDITOR:
            _try(holder, partial(leftovers.close_editor, holder), left)
        elif holder is not None:
            left.append(
                f"the attribute {attribute.db_key!r} of {holder.key} ({holder.dbref}), which holds "
                "something of evennia_ai's"
            )


def _clear_tables(*, and_lore: bool) -> None:
    # Assistants that could not be removed keep what they know.
    remaining = [script.pk for script in list_assistants()]
    if not and_lore:
        remaining.append(rows.SHARED)
    with transaction.atomic():
        for table in (Memory, EntityProfile, CardFile, WorkJob, StoredQuestion):
            table.objects.exclude(assistant__in=remaining).delete()
        for table in OF_ASSISTANTS:
            table.objects.all().delete()


def _try(being: Being, act: Callable[[], object], left: list[str]) -> None:
    # A being that refuses or raises is reported, and does not keep the others.
    try:
        problem = "" if act() is not False else "a hook of the game's refused"
    except Exception as error:
        logger.log_trace(f"[assistant] {being} could not be cleared away")
        problem = one_line(repr(error), 200)
    if problem:
        left.append(f"{being.key} ({being.dbref}: {problem})")


def _empty_records(left: list[str]) -> None:
    with transaction.atomic():
        for table in RECORDS:
            table.objects.all().delete()
    try:
        ledger.store().erase()
        spent_days.forget()
    except ConfigurationError as error:
        left.append(f"what calls have cost ({error})")
    # The log's cache in this process would go on with versions that no longer exist.
    audit.start_anew()


def _message(data: Removed) -> str:
    removed = data.removed
    lines = [f"Removed: {len(removed)} ({_listed(removed)})." if removed else "None was removed."]
    if data.released:
        lines.append(f"Released, and as they were before: {_listed(data.released)}.")
    if data.left:
        mend = "Not removed, and why; fix that, then type the same again:"
        lines += [mend, *(f"  {each}" for each in data.left[:MOST_NAMED])]
    lines.append(NEXT.format(places=", ".join(data.places) or "none was found"))
    return "\n".join(lines)
