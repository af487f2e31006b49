"""Undo and redo of what people changed of an assistant, edit by edit.

An edit is not undone where the same thing was changed again since, so that nobody's later work is
lost. It needs the right to `undo` and those that the edit itself needed, which `acts_of` lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from django.db import transaction
from typing_extensions import TypedDict

from evennia_ai import audit
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.safety.audit_events import MASK, audit_event, storable
from evennia_ai.core.typed_objects import Being
from evennia_ai.operations.assistants.looks import look_of, update_assistant
from evennia_ai.operations.audit.edits import (
    FINAL,
    REDONE,
    UNDONE,
    ChangedValue,
    Edit,
    Edits,
    read_edits,
)
from evennia_ai.operations.audit.log import changes_between
from evennia_ai.operations.result import Result, note
from evennia_ai.operations.rights.acts import refusal
from evennia_ai.operations.settings.changing import (
    act_to_configure,
    prepare,
    signed,
    store_settings,
)
from evennia_ai.operations.settings.rows import UNSET, EditedValue, own_of, shown
from evennia_ai.operations.times import clock_of
from evennia_ai.runtime import state

MOST_LISTED = 20
LONGEST_SAME = 30  # characters; two texts that begin alike for longer are shown without that
FINGERPRINT = {"characters", "sha256"}  # keys that the log keeps in place of a long text
NEVER = (
    "What cannot be undone: a deletion, what was forgotten, spent or said, and a stop that was "
    "cleared."
)
NO_EDIT = "{name}: its audit log has no edits to undo. " + NEVER
CHANNELS = "channel_configs"


class MadeEdit(TypedDict):
    """Changes that a person made to an assistant at one time."""

    number: int
    at: str
    by: str
    changes: list[EditedValue]


@dataclass(frozen=True, slots=True)
class KnownEdits:
    """The edits that people made to an assistant, the newest first."""

    edits: Annotated[list[MadeEdit], note("Edits that can be undone.")]
    undone: Annotated[list[MadeEdit], note("Edits that were undone, the next one to redo first.")]


@dataclass(frozen=True, slots=True)
class Undone:
    """The changes that an undo or redo made."""

    number: Annotated[int, note("Number of the edit.")]
    changes: Annotated[list[EditedValue], note("The changed settings with their present values.")]


# ---- finding an edit ---------------------------------------------------------------------------


def list_edits(script: AssistantScript) -> Result[KnownEdits]:
    """List the edits that can be undone, the newest first, and those that can be redone."""
    edits, name = read_edits(script), str(script.key)
    data = KnownEdits(
        [_as_data(edit) for edit in edits.made[:MOST_LISTED]],
        [_as_data(edit) for edit in edits.undone[:MOST_LISTED]],
    )
    lines = [f"Edits of {name} that can be undone, newest first:"] if edits.made else []
    lines += [_row(edit) for edit in edits.made[:MOST_LISTED]]
    if edits.undone:
        lines.append(f"Undone; to redo the newest: assistant redo {name}")
        lines += [_row(edit) for edit in edits.undone[:MOST_LISTED]]
    if edits.made:
        lines.append(f"The newest: assistant undo {name}; another: assistant undo {name} <number>")
    return Result(True, "\n".join(lines) or NO_EDIT.format(name=name), data)


def find_undo(script: AssistantScript, number: int | None = None) -> Result[Edit]:
    """Find the edit to undo, or the reason why there is none.

    Args:
        number: number of an edit; None: the newest.
    """
    edits, name = read_edits(script), str(script.key)
    if number is not None:
        return _numbered(edits, number, name)
    if edits.last_act is not None:
        return _refusal_of_act(edits, name)
    if not edits.made:
        return Result.conflict(NO_EDIT.format(name=name))
    return Result(True, "", edits.made[0])


def find_redo(script: AssistantScript) -> Result[Edit]:
    """Find the edit to redo, or the reason why there is none."""
    edits = read_edits(script)
    if edits.undone:
        return Result(True, "", edits.undone[0])
    return Result.conflict(
        f"{script.key}: nothing was undone, or something else was changed since."
    )


def acts_of(edit: Edit) -> list[str]:
    """The acts of `rights.acts.ACTS` that an edit needed besides "configure"."""
    acts = [] if edit.is_of_look else [act_to_configure(edit.names)]
    if "enabled" in edit.names:
        acts.append("start")
    if edit.is_of_look and "location" in edit.names:
        acts.append("move")
    return [act for act in acts if act != "configure"]


def change_as(
    person: Being,
    script: AssistantScript,
    edit: Result[Edit],
    change: Callable[..., Result],
    *,
    counts_as_staff: bool | None = None,
) -> Result:
    """Undo or redo an edit, if a person also has the rights that the edit itself needed.

    Args:
        edit: the outcome of `find_undo` or `find_redo`.
        change: `undo` or `redo`.
        counts_as_staff: as for `refusal`.
    """
    if not edit.ok:
        return edit
    refusals = (
        refusal(act, person, script, counts_as_staff=counts_as_staff) for act in acts_of(edit.data)
    )
    refused = next(filter(None, refusals), None)
    return refused or change(script, edit.data, by=str(person.key), person=person)


def _numbered(edits: Edits, number: int, name: str) -> Result[Edit]:
    if edit := next((each for each in edits.made if each.number == number), None):
        return Result(True, "", edit)
    if any(each.number == number for each in edits.undone):
        result = Result.conflict(f"{name}: edit {number} is already undone.")
        return result.with_typed(f" To redo it: assistant redo {name}")
    result = Result.conflict(f"{name} has no edit {number} to undo.")
    return result.with_typed(f" See: assistant undo {name} list")


def _refusal_of_act(edits: Edits, name: str) -> Result:
    # Not silently the edit before it: whoever types `undo` means the last thing that was done.
    act = edits.last_act
    assert act is not None
    why, _, instead = FINAL[act.event].format(name=name).partition(". ")
    message = f"The last that {act.details['by']} did to {name} cannot be undone: {why}."
    hint = f" {instead}." if instead else ""
    if edits.made:
        edit = edits.made[0]
        hint += f" The edit before it can: assistant undo {name} {edit.number} ({_edit_text(edit)})"
    return Result.conflict(message).with_typed(hint)


# ---- undo and redo -----------------------------------------------------------------------------


def undo(
    script: AssistantScript, edit: Edit, *, by: str = "", person: Being | None = None
) -> Result[Undone]:
    """Undo an edit.

    Args:
        person: must be allowed to enter the room that the body goes back to; None: no check.
    """
    changes = [ChangedValue(each.name, each.new, each.old) for each in edit.changes]
    end = f"Edit {edit.number} of {edit.by}'s is undone."
    done = _apply(script, edit, changes, UNDONE, end, by, person)
    return done.with_typed(f" To redo it: assistant redo {script.key}") if done.ok else done


def redo(
    script: AssistantScript, edit: Edit, *, by: str = "", person: Being | None = None
) -> Result[Undone]:
    """Redo an edit that was undone; the arguments are those of `undo`."""
    end = f"Edit {edit.number} is redone."
    done = _apply(script, edit, edit.changes, REDONE, end, by, person)
    return (
        done.with_typed(f" To undo it: assistant undo {script.key} {edit.number}")
        if done.ok
        else done
    )


def _apply(
    script: AssistantScript,
    edit: Edit,
    changes: Iterable[ChangedValue],
    event: str,
    end: str,
    by: str,
    person: Being | None,
) -> Result[Undone]:
    """Set `new` of each change, if the present value of each is `old`.

    Args:
        end: last line of the message.
    """
    all_changes = list(changes)
    if problem := _problem_of(script, edit, all_changes):
        why, hint = problem
        return Result.conflict(f"{script.key}: nothing is changed: {why}").with_typed(hint)
    writes = 1 if edit.is_of_look else len(all_changes)
    # `writes` tells `edits` which events before this one are not edits of their own.
    mark = audit_event(event, edit=edit.number, names=edit.names, writes=writes)
    if edit.is_of_look:
        look = {each.name: each.new for each in all_changes}
        with transaction.atomic():
            done = update_assistant(script, **look, by=by, person=person, is_undo=True)
            if done.ok:
                with signed(by):
                    audit.record(mark.event, script, **mark.details)
    else:
        prepared = prepare(
            {each.name: _target(each) for each in all_changes},
            lambda name: own_of(script, name),
            script.obj,
        )
        if prepared.errors:
            why = "; ".join(prepared.errors.values())
            return Result.conflict(f"{script.key}: nothing is changed: {why}")
        with signed(by):
            store_settings(script, prepared.values, mark)
        done = Result(True, "")
    if not done.ok:
        return done.as_refusal()
    lines = [f"{script.key}: {_change_text(each)}" for each in all_changes]
    data = Undone(edit.number, [_as_row(each) for each in all_changes])
    return Result(True, "\n".join([*lines, end]), data)


def _target(change: ChangedValue) -> Any:
    # None where it is the default, so that the setting is unset again and follows later defaults.
    default = _as_recorded(change.name, state.DEFAULTS[change.name])
    return None if change.new == default else change.new


def _problem_of(
    script: AssistantScript, edit: Edit, changes: list[ChangedValue]
) -> tuple[str, str] | None:
    # The reason why an edit cannot be undone, with what to type instead; None where it can be.
    look = look_of(script) if edit.is_of_look else {}
    for each in changes:
        if edit.is_of_look:
            is_as_left = look.get(each.name) == each.old
        else:
            is_as_left = each.name in state.DEFAULTS and _is_now(script, each.name, each.old)
        if not is_as_left:
            why = f"{each.name} was changed again since edit {edit.number}."
            return why, f" See: assistant undo {script.key} list"
        if not is_whole(each.new):
            what = f"the audit log does not have all of {each.name}, since it was secret or too"
            return f"{what} long; set it by hand", ""
        if each.name == CHANNELS and set(each.old or ()) != set(each.new or ()):
            modes = "trigger | context | leave"
            hint = f"; type: assistant channel {script.key} <channel> = {modes}"
            return "the channels it listens to are not a plain setting", hint
        if each.new is None and edit.is_of_look:
            return "it was in no room, and cannot be put back there", ""
    return None


def _is_now(script: AssistantScript, name: str, recorded: object) -> bool:
    # None in the log: the setting was not set, or had its default value.
    if recorded is None and own_of(script, name) is UNSET:
        return True
    return bool(_as_recorded(name, state.read(script, name)) == recorded)


def _as_recorded(name: str, value: object) -> Any:
    return storable({"key": name, "value": value})["value"]


def is_whole(value: object) -> bool:
    """True where a value in the audit log is complete, with nothing masked or left out."""
    if isinstance(value, Mapping):
        return set(value) != FINGERPRINT and all(map(is_whole, value.values()))
    if isinstance(value, list):
        return all(map(is_whole, value))
    return not (isinstance(value, str) and MASK in value)


# ---- messages ----------------------------------------------------------------------------------


def _as_row(change: ChangedValue) -> EditedValue:
    return {"name": change.name, "old": change.old, "value": change.new}


def _as_data(edit: Edit) -> MadeEdit:
    when = edit.at.isoformat(timespec="seconds")
    changes = [_as_row(change) for change in edit.changes]
    return {"number": edit.number, "at": when, "by": edit.by, "changes": changes}


def _row(edit: Edit) -> str:
    return f"{edit.number:>6}  {clock_of(edit.at)[:16]}  {edit.by}: {_edit_text(edit)}"


def _edit_text(edit: Edit) -> str:
    return "; ".join(map(_change_text, edit.changes))


def _change_text(change: ChangedValue) -> str:
    old, new = change.old, change.new
    if isinstance(old, str) and isinstance(new, str):
        old, new = _shortened(old, new)
    if isinstance(old, Mapping) or isinstance(new, Mapping):
        before, after = ({change.name: each} if each else {} for each in (old, new))
        inner = changes_between(before, after)
        return "; ".join(f"{r['path']}: {shown(r['before'])} -> {shown(r['after'])}" for r in inner)
    return f"{change.name}: {shown(old)} -> {shown(new)}"


def _shortened(old: str, new: str) -> tuple[str, str]:
    # Shortens what both begin with, where that is long, so that the difference is in sight.
    same = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), None)
    same = min(len(old), len(new)) if same is None else same
    cut = same - LONGEST_SAME // 2
    return (f"…{old[cut:]}", f"…{new[cut:]}") if same > LONGEST_SAME else (old, new)
