"""Form fields for settings, generated from their models, and the changes that a form contains."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from pydantic.json_schema import JsonSchemaValue

from evennia_ai.core.settings.game import POWERS
from evennia_ai.core.settings.paths import Keys, locate, schema_of_keys
from evennia_ai.core.settings.schema import item_of, kind_of, known_keys, parse
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.errors import ConfigurationError
from evennia_ai.operations import Result
from evennia_ai.operations.result import ProblemKind
from evennia_ai.operations.settings.rows import SettingRow, is_of_game, row_of, shown
from evennia_ai.web.forms import STALE
from evennia_ai.web.rows import Visit

# Prefixes of a form's fields: the typed value of a setting, and the value when the form was opened.
SET, WAS, UNSET = "set:", "was:", "unset"
DEFAULT = "default"
LONGEST_NOW = 60
PLAIN = ("string", "integer", "number", "enum", "boolean")
# Settings that get a text area instead of a line.
LONG = ("persona", "card_notes", "system_prompt", "system_prompt_native", "compact_prompt")
UNITS = ("seconds", "minutes", "hours", "days", "tokens", "bytes", "characters")
CHOICE, LINE, LINES, TEXT = "choice", "line", "lines", "text"


@dataclass(frozen=True, slots=True)
class Field:
    """A setting in a form.

    Attributes:
        kind: CHOICE of a few values; LINE; LINES, with an entry each; or TEXT, possibly JSON.
        text: its contents, as typed or stored; "" if it is not set.
        was: its contents when the form was opened.
        choices: value and label of each choice.
        default: the value that applies while it is not set, in words.
        source: whose value applies: the assistant's, the game's or the default.
        wanted: its type and bounds, in words.
        error: the error in the typed value.
        is_power: only an owner may change it.
    """

    path: str
    label: str
    kind: str
    text: str
    was: str
    choices: tuple[tuple[str, str], ...]
    default: str
    source: str
    is_own: bool
    help: str
    wanted: str
    unit: str
    error: str
    is_power: bool
    rows: int


def field_of(row: SettingRow, visit: Visit) -> Field:
    """Make the field of a setting; after a refusal it still has the typed value."""
    path = row["name"]
    keys = locate(path)
    schema = schema_of_keys(keys)
    kind = _kind(path, schema)
    was = stored = _stored(row, schema)
    text = clean(visit.form.get(f"{SET}{path}", stored))
    if visit.result is None or visit.result.problem is not ProblemKind.CONFLICT:
        was = clean(visit.form.get(f"{WAS}{path}", stored))
    # After a conflict `was` is the stored value, so that saving again overwrites it on purpose; a
    # field that the visitor left alone shows the stored value.
    elif path not in dict(_changed_fields(visit)):
        text = stored
    if kind == LINE and "\n" in text + was:
        kind = TEXT  # a browser takes line breaks out of a line
    default, errors = shown(row["default"]), visit.result.errors if visit.result is not None else {}
    return Field(
        path=path,
        label=str(keys[-1]).replace("_", " "),
        kind=kind,
        text=text,
        was=was,
        choices=_choices(schema, default) if kind == CHOICE else (),
        default=default,
        source=_source(row, keys),
        is_own=not row["is_default"],
        help=row["text"],
        wanted=row["type"],
        unit=next((unit for unit in UNITS if path.endswith(f"_{unit}")), ""),
        error=errors.get(path, ""),
        is_power=str(keys[0]) in POWERS,
        rows=min(20, max(3, text.count("\n") + 2)),
    )


def _stored(row: SettingRow, schema: JsonSchemaValue) -> str:
    return "" if row["is_default"] else _as_typed(schema, row["value"])


def _kind(path: str, schema: JsonSchemaValue) -> str:
    kind = kind_of(schema)
    if kind in ("boolean", "enum"):
        return CHOICE
    if kind == "array":
        return LINES if _has_plain_items(schema) else TEXT
    return TEXT if kind in ("object", "") or path in LONG else LINE


def _has_plain_items(schema: JsonSchemaValue) -> bool:
    return kind_of(schema.get("items", {})) in PLAIN


def _choices(schema: JsonSchemaValue, default: str) -> tuple[tuple[str, str], ...]:
    words = ("yes", "no") if kind_of(schema) == "boolean" else tuple(map(str, schema["enum"]))
    return (("", f"as by default ({default})"), *((word, word) for word in words))


def _source(row: SettingRow, keys: Keys) -> str:
    if not row["is_default"]:
        return "its own"
    return "the game's" if is_of_game(keys) else "by default"


def _as_typed(schema: JsonSchemaValue, value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "null"
    if isinstance(value, list) and value and _has_plain_items(schema):
        typed = "\n".join(map(str, value))
        # As JSON if the lines would be read as something else, such as an entry of two lines.
        if _entries(schema, typed) == value:
            return typed
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False, indent=1)
    return clean(str(value))


def at_field(name: str, result: Result) -> Result[Any]:
    """Attach a refusal to a field of the form, unless it names fields itself."""
    return replace(result.as_refusal(), errors=result.errors or {name: result.message})


def clean(text: str) -> str:
    """Normalize line ends: browsers send CRLF, and LF is stored."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def is_container(row: SettingRow) -> bool:
    """True for a group whose keys have fields of their own."""
    return bool(known_keys(schema_of_keys(locate(row["name"]))))


def is_within(row: SettingRow) -> bool:
    """True for a key of a mapping that is one field as a whole, such as JSON."""
    keys = locate(row["name"])
    return any(item_of(schema_of_keys(keys[:place])) is not None for place in range(1, len(keys)))


# ---- changes in a form -------------------------------------------------------------------------


def changes_of(visit: Visit) -> dict[str, Any]:
    """The settings that were changed in the form, and the one to be reset by its button."""
    changes: dict[str, Any] = {path: _parsed(path, typed) for path, typed in _changed_fields(visit)}
    if path := visit.form.get(UNSET, ""):
        changes[path] = DEFAULT
    return changes


def _changed_fields(visit: Visit) -> Iterator[tuple[str, str]]:
    """Yield the paths of the fields that were changed, each with the typed text."""
    for name, text in visit.form.items():
        path = name.removeprefix(SET)
        typed = clean(text)
        # Without a `was:` field it counts as changed: typed text never contains NUL.
        if path != name and typed != clean(visit.form.get(f"{WAS}{path}", "\0")):
            yield path, typed


def refuse_stale_settings(visit: Visit) -> Result | None:
    """Refuse a form if somebody else has changed one of its settings since it was opened."""
    errors = {}
    for path, typed in _changed_fields(visit):
        was = visit.form.get(f"{WAS}{path}")
        try:
            row = row_of(visit.assistant, locate(path))
        except ConfigurationError:  # no such setting: `update_settings` refuses it with a reason
            continue
        now = _stored(row, schema_of_keys(locate(path)))
        if was is not None and now not in (clean(was), typed):
            errors[path] = f"it is {one_line(now, LONGEST_NOW) or 'not set'} now"
    if not errors:
        return None
    return replace(Result.conflict(STALE.format(what=" and ".join(errors))), errors=errors)


def _parsed(path: str, typed: str) -> Any:
    """Parse a typed text: for a plain list, each line is an entry."""
    try:
        schema = schema_of_keys(locate(path))
    except ConfigurationError:  # as above
        return typed
    entries = _entries(schema, typed) if kind_of(schema) == "array" else None
    return typed if entries is None else entries


def _entries(schema: JsonSchemaValue, typed: str) -> list[Any] | None:
    """The entries of a plain list, typed one per line; None if it is empty or no such list."""
    word = typed.strip()
    # It may also be typed as JSON, which is parsed with the other settings; not each text that
    # begins like JSON is one, such as "{name} hums."
    is_json = word[:1] in ("[", "{") and isinstance(parse({}, word), (list, dict))
    if not word or is_json or not _has_plain_items(schema):
        return None
    lines = (line.strip() for line in word.split("\n"))
    return [parse(schema["items"], line) for line in lines if line]


def grouped(fields: Iterable[Field]) -> dict[str, list[Field]]:
    """Group fields by the setting that they are keys of; "" for those without one."""
    groups: dict[str, list[Field]] = {}
    for field in fields:
        # Not split at dots, which some keys contain.
        above = ".".join(map(str, locate(field.path)[:-1]))
        groups.setdefault(above, []).append(field)
    return groups
