"""Showing and changing an assistant's settings; all changes are checked before any is stored.

The act `configure` covers all settings except powers over the game itself, which need an owner's
right: see `act_to_configure`. An assistant's own caps are among them, since they can only be
tighter than those of the game.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from pydantic.json_schema import JsonSchemaValue
from typing_extensions import TypedDict

from evennia_ai import approvals, audit
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.audit.acting import actor
from evennia_ai.core.safety.audit_events import AuditEvent
from evennia_ai.core.settings.assistant import check_setting
from evennia_ai.core.settings.game import ATTRIBUTES, POWERS
from evennia_ai.core.settings.paths import (
    SECRETS_BELONG,
    Keys,
    locate,
    schema_of_keys,
    sounds_secret,
)
from evennia_ai.core.settings.schema import kind_of, parse, with_ids
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.text.plain_data import plain
from evennia_ai.core.text.words import counted
from evennia_ai.core.typed_objects import GameObject
from evennia_ai.errors import ConfigurationError
from evennia_ai.operations.result import Result
from evennia_ai.operations.settings.checks import doubts, problem_of
from evennia_ai.operations.settings.rows import (
    UNSET,
    EditedValue,
    SettingRow,
    all_keys,
    overruled,
    own_of,
    row_of,
    shown,
)
from evennia_ai.runtime import rounds, state

UNSET_WORDS = ("none", "default", "")
MOST_CHANGES = 100
Own = Callable[[str], Any]


@dataclass(slots=True)
class Prepared:
    """Changes that were checked and not stored yet.

    Attributes:
        values: whole settings by name; None: to be unset.
        errors: problems by path.
        keys: the keys that each path stands for.
    """

    values: dict[str, Any] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    keys: dict[str, Keys] = field(default_factory=dict)


class AllSettings(TypedDict):
    """All settings of an assistant."""

    settings: list[SettingRow]


class Changed(TypedDict):
    """Settings that were changed."""

    changes: list[EditedValue]


def act_to_configure(paths: Iterable[str]) -> str:
    """The act of `rights.acts.ACTS` that a change of these settings is."""
    for path in paths:
        try:
            name = locate(path)[0]
        except ConfigurationError:  # an unknown path, which the change itself will refuse
            continue
        if name in POWERS:
            return "configure powers"
    return "configure"


# ---- showing -----------------------------------------------------------------------------------


def configuration(script: AssistantScript) -> Result[AllSettings]:
    """Show all settings, containers with their keys below; of open containers only keys set."""
    rows = [row_of(script, keys) for keys in all_keys(script)]
    own = [row for row in rows if not row["is_default"]]
    lines = [f"{script.key}: {counted(len(own), 'own settings')}, all others at their defaults"]
    lines += [f"  {row['name']:<40} {shown(row['value'])}" for row in own]
    return Result(True, "\n".join(lines), {"settings": rows})


def show_setting(script: AssistantScript, path: str) -> Result[SettingRow]:
    """Show one setting: its value, its default, and which values it accepts."""
    try:
        keys = locate(path)
    except ConfigurationError as error:
        return Result(False, f"{script.key}: {error}")
    row = row_of(script, keys)
    default = "" if row["is_default"] else f" (default {shown(row['default'])})"
    line = f"{script.key}: {row['name']} is {shown(row['value'])}{default}"
    return Result(True, f"{line}; {row['type']}. {row['text']}".strip(), row)


# ---- checking ----------------------------------------------------------------------------------


def prepare(changes: Mapping[str, object], own: Own, body: GameObject | None = None) -> Prepared:
    """Check changes, each alone and all together, without storing any.

    Args:
        changes: values by path; a typed text or plain data.
        own: returns the stored value of a setting, UNSET where there is none.
        body: the assistant's body, on which lock strings are tried; None while it has none.
    """
    prepared = Prepared()
    for path, value in changes.items():
        try:
            _prepare_one(prepared, str(path), value, own)
        except ConfigurationError as error:
            prepared.errors[str(path)] = one_line(str(error), 600)

    def read_new(name: str) -> Any:
        value = prepared.values[name] if name in prepared.values else own(name)
        return deepcopy(ATTRIBUTES[name].default) if value in (None, UNSET) else value

    # In a second pass, since a value may be right only together with another one.
    problems = {name: problem_of(name, read_new, body) for name in prepared.values}
    for path, keys in prepared.keys.items():
        if problem := problems.get(str(keys[0])):
            prepared.errors.setdefault(path, problem)
    return prepared


def _prepare_one(prepared: Prepared, path: str, given: object, own: Own) -> None:
    """Add one change to those that are prepared.

    Raises:
        ConfigurationError: there is no such setting, or it does not accept this value.
    """
    keys = locate(path)
    name, inside = str(keys[0]), keys[1:]
    schema = schema_of_keys(keys)
    if kind_of(schema) == "fixed":
        raise ConfigurationError(
            f"{name} cannot be set: it was given when the assistant was created"
        )
    if name == "llm_extra_params" and any(sounds_secret(str(key)) for key in inside):
        raise ConfigurationError(f"{path} cannot be set: {SECRETS_BELONG}")
    value = _read_value(schema, given, is_nested=bool(inside))
    if value is not UNSET:
        value = with_ids(schema, plain(value, path))
        if not inside:  # keys of containers are checked with the whole container, by `problem_of`
            check_setting(name, value)
    if inside:
        before = prepared.values[name] if name in prepared.values else own(name)
        value = _replaced({} if before in (None, UNSET) else before, inside, value, name)
        value = plain(value, name) or UNSET
    prepared.values[name] = None if value is UNSET else value
    prepared.keys[path] = keys


def _read_value(schema: JsonSchemaValue, given: object, *, is_nested: bool) -> Any:
    # UNSET for what means "back to the default". None is a value only of nested keys: a whole
    # setting of None is stored as unset.
    may_be_none = is_nested and schema.get("nullable", False)
    if given is None:
        return None if may_be_none else UNSET
    if not isinstance(given, str):
        return given
    word = given.strip().casefold()
    if word in UNSET_WORDS and word not in schema.get("enum", ()):
        return UNSET
    value = parse(schema, given)
    return UNSET if value is None and not may_be_none else value


def _replaced(container: object, keys: Keys, value: object, path: str) -> Any:
    # A copy with one entry set or, for UNSET, removed; containers that become empty go too.
    if not isinstance(container, Mapping):
        raise ConfigurationError(f"{path} is {shown(container)}, which has no keys; set it whole")
    key, below = keys[0], keys[1:]
    changed = dict(container)
    if below:
        value = _replaced(changed.get(key, {}), below, value, f"{path}.{key}")
    if value is UNSET or (below and value == {}):
        changed.pop(key, None)
    else:
        changed[key] = value
    return changed


# ---- changing ----------------------------------------------------------------------------------


def set_setting(
    script: AssistantScript, path: str, value: object, *, by: str = ""
) -> Result[Changed]:
    """Change one setting, or one key of a container."""
    return update_settings(script, {path: value}, by=by)


def unset_setting(script: AssistantScript, path: str, *, by: str = "") -> Result[Changed]:
    """Unset a setting, so that the default or the game's value applies again."""
    return update_settings(script, {path: None}, by=by)


def update_settings(
    script: AssistantScript, changes: Mapping[str, object], *, by: str = ""
) -> Result[Changed]:
    """Change several settings: all of them, or none where one is wrong.

    Args:
        changes: values by path, each a typed text or plain data; None and "default" unset one.
        by: name for the audit log, unless the caller has set it already.
    """
    if not changes or len(changes) > MOST_CHANGES:
        return _refused(script, f"give 1 to {MOST_CHANGES} settings at once, not {len(changes)}")
    # An earlier start or stop of all may not have reached this one: the later word counts.
    rounds.settle(script)
    prepared = prepare(changes, lambda name: own_of(script, name), script.obj)
    if prepared.errors:
        return _refused(script, "; ".join(prepared.errors.values()), errors=prepared.errors)
    before = {path: row_of(script, keys) for path, keys in prepared.keys.items()}
    now = {name: value for name, value in prepared.values.items() if differs(script, name, value)}
    with signed(by):
        store_settings(script, now)
    rows = {path: row_of(script, keys) for path, keys in prepared.keys.items()}
    lines = [
        _change_line(script, rows[path], before[path]) + overruled(script, keys)
        for path, keys in prepared.keys.items()
    ] + doubts(script, prepared.values)
    data: list[EditedValue] = [
        {"name": rows[path]["name"], "old": before[path]["value"], "value": rows[path]["value"]}
        for path in rows
    ]
    return Result(True, "\n".join(lines), {"changes": data})


def signed(by: str) -> AbstractContextManager[None]:
    """Name the actor of audit events inside the block, unless an outer caller has named one."""
    return audit.acting(by) if by and not actor().by else nullcontext()


def differs(script: AssistantScript, name: str, value: object) -> bool:
    """True where a whole setting is stored with another value; None: it is not stored."""
    own = own_of(script, name)
    return bool((None if own is UNSET else own) != value)


def _refused(
    script: AssistantScript, why: str, *, errors: Mapping[str, str] | None = None
) -> Result:
    return Result(False, f"{script.key}: nothing is changed: {why}", errors=errors or {})


def _change_line(
    script: AssistantScript, row: Mapping[str, object], before: Mapping[str, object]
) -> str:
    name, value = row["name"], shown(row["value"])
    if row["value"] == before["value"]:
        return f"{script.key}: {name} is already {value}."
    word = ", the default," if row["is_default"] else ""
    return f"{script.key}: {name} is {value}{word} now (was {shown(before['value'])})."


def store_settings(
    script: AssistantScript, values: Mapping[str, Any], *audit_events: AuditEvent
) -> None:
    """Store checked settings with events for the audit log, and apply them at once.

    Args:
        values: whole settings by name; None: to be unset.
    """
    if not values:
        return
    work, is_off = script.work, values.get("enabled", True) is False
    if is_off:
        state.bump_epoch(script)  # voids the turn under way, whose reply would still be said
    state.write(script, *audit_events, **values)
    if is_off and work is not None:
        approvals.discard_all(script, f"{script.key} is silent")
    # Questions about a limit that the new settings have raised.
    approvals.withdraw_moot(script)
    # The timer of the script is started anew, with the new rate.
    if work is not None and not work.is_closing and {"enabled", "tick_rate"} & set(values):
        script.at_start()
