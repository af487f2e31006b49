"""The audit log of an assistant: its events, its state at any version, and a consistency check."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from typing_extensions import TypedDict

from evennia_ai import audit
from evennia_ai.agent.holders import as_they_hold
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.audit import AuditEntry
from evennia_ai.audit.events import begin, subject_of
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.text.words import counted
from evennia_ai.core.turn.executions import TOOL
from evennia_ai.core.typed_objects import Being
from evennia_ai.messages.incoming import find_being
from evennia_ai.operations.audit.check import Unlike, differences, stored_values
from evennia_ai.operations.result import Result, note, number_of
from evennia_ai.operations.times import WHEN, moment_of, span_of
from evennia_ai.runtime import names


def current_log() -> audit.AssistantApplication:
    """The audit log, up to date."""
    # Events that need not be in a transaction are buffered for a moment.
    audit.flush()
    return audit.application()


MOST_ENTRIES = 100
# Events that are searched at once for those by one person, which no index helps to find.
MOST_LOOKED_AT = 1_000
MOST_CALLS = 1_000
MOST_LINES, LONGEST_LINE = 200, 200  # lines, and characters of one


class FactEntry(TypedDict):
    """One event of the audit log."""

    version: int
    at: str
    event: str
    text: str
    details: dict[str, object]


@dataclass(frozen=True, slots=True)
class FactPage:
    """A page of the audit log, the newest first."""

    entries: list[FactEntry]
    count: Annotated[int, note("Number of events ever recorded.")]
    next: Annotated[int | None, note("Value of `before` for the next page; null on the last page.")]


@dataclass(frozen=True, slots=True)
class PastState:
    """An assistant as it was at a version."""

    version: int
    at: Annotated[str, note("Time of that version (ISO 8601).")]
    state: dict[str, object]


class StateChange(TypedDict):
    """A value of the state before and after; null where there was none."""

    path: str
    before: object
    after: object


# In functional syntax, since `from` is a keyword of Python.
Difference = TypedDict("Difference", {"from": int, "to": int, "changes": list[StateChange]})


def audit_log(
    script: AssistantScript | None,
    *,
    before: int | None = None,
    limit: int = 25,
    events: Sequence[str] = (),
    by: str = "",
    day: str = "",
) -> Result[FactPage]:
    """List the events of an assistant, the newest first.

    Args:
        script: None: the game's own log, of events that concern no single assistant.
        before: only events before this version: the `next` of an earlier page.
        limit: number of entries, 1 to 100.
        events: only events of these names; empty: all.
        by: only acts of this account; case is ignored.
        day: only events of this time, such as "2026-11-21" or "yesterday", in the game's zone.
    """
    span = span_of(day, datetime.now(UTC).timestamp()) if day else None
    if day and span is None:
        return Result.invalid(f"{one_line(day, 40)!r} is not a time; a time is like {WHEN}.")
    record, subject = current_log(), script or audit.GAME
    key = str(script.key) if script is not None else "the game"
    most = max(1, min(limit, MOST_ENTRIES))
    entries = record.page(
        subject,
        before=before,
        limit=MOST_LOOKED_AT if by else most + 1,  # one more tells if there is a next page
        events=tuple(events),
        since=datetime.fromtimestamp(span.since, UTC) if span else None,
        until=datetime.fromtimestamp(span.until, UTC) if span else None,
    )
    wanted = by.strip().casefold()
    matching = [e for e in entries if wanted in ("", str(e.details.get("by", "")).casefold())]
    shown, count = matching[:most], record.count(subject)
    following = shown[-1].version if len(matching) > most else None
    if by and following is None and len(entries) == MOST_LOOKED_AT:
        following = entries[-1].version
    data = FactPage([_as_data(entry) for entry in shown], count, following)
    if not shown:
        older = f" among {MOST_LOOKED_AT:,} looked at; older ones may have" if following else ""
        return Result(True, f"The record of {key} has no such entry{older}.", data)
    return Result(True, f"{len(shown)} of {counted(count, 'entries')} of {key}.", data)


def words_of(entry: FactEntry, reader: Being) -> str:
    """The sentence of an entry, with the person's id replaced by the name that the reader sees.

    The id of a mask ("#12~...") stays: nobody may read who wore it.
    """
    text, who = entry["text"], str(entry["details"].get("person") or "")
    being = find_being(who) if who in text and "~" not in who else None
    if being is None:
        return text
    name = names.name_of(being, names.eyes_of(reader))
    return re.sub(rf"(?<![*\w]){re.escape(who)}(?![\d~])", lambda _: name, text)


def _as_data(entry: AuditEntry) -> FactEntry:
    return {
        "version": entry.version,
        "at": entry.at.isoformat(timespec="seconds"),
        "event": entry.event,
        "text": entry.text,
        "details": entry.details,
    }


# ---- past states -------------------------------------------------------------------------------


def audit_state(
    script: AssistantScript, version: int | None = None, *, at: str | None = None
) -> Result[PastState]:
    """The state of an assistant at a version of its audit log or at a time; by default its newest.

    A setting that was only set later has the value that it had by default then.

    Args:
        at: a time, such as "2026-11-21 17:00" or "2 hours ago".
    """
    if version is not None and at is not None:
        return Result.invalid("Give a version or a time, not both.")
    if at is not None:
        version_result = _version_at(script, at)
        if not version_result.ok:
            return version_result.as_refusal()
        version = version_result.data
    result = _at(script, version)
    if not result.ok:
        return result.as_refusal()
    known = result.data
    when = known.modified_on.isoformat(timespec="seconds")
    newest = _at(script, None).data
    data = PastState(known.version, when, _with_defaults(known, newest))
    return Result(True, f"{script.key} as it was at version {known.version}, {when}.", data)


def find_version(script: AssistantScript, text: str) -> Result[int | None]:
    """Read a version, or a time as the version of that time; None for "", the newest.

    Args:
        text: such as "120", "2026-11-21 17:00" or "2 hours ago".
    """
    words = text.strip()
    number = number_of(words)
    return _version_at(script, words) if words and number is None else Result(True, "", number)


def audit_difference(script: AssistantScript, a: int | None, b: int | None) -> Result[Difference]:
    """List the changes from one version to another; None is the newest."""
    ends = _at(script, a), _at(script, b)
    if refused := next((end for end in ends if not end.ok), None):
        return refused.as_refusal()
    first, last = (end.data for end in ends)
    changes = list(changes_between(_with_defaults(first, last), _with_defaults(last, first)))
    data: Difference = {"from": first.version, "to": last.version, "changes": changes}
    versions = f"from version {first.version} to {last.version}"
    if not changes:
        return Result(True, f"Nothing of {script.key} changed {versions}.", data)
    head = f"{script.key}, {versions}:"
    lines = [_line(row["path"], row["before"], row["after"]) for row in changes]
    return Result(True, _listed(head, lines), data)


def _with_defaults(
    known: audit.AssistantAggregate, other: audit.AssistantAggregate
) -> dict[str, Any]:
    # Settings that only the other version has set get their defaults here, so that the two compare.
    data: dict[str, Any] = known.as_data()
    return {**data, "settings": as_they_hold(data["settings"], other.as_data()["settings"])}


def _at(script: AssistantScript, version: int | None) -> Result[audit.AssistantAggregate]:
    record, key = current_log(), str(script.key)
    newest = record.count(script)
    wanted = newest if version is None else version
    if not newest:
        return Result.not_found(f"{key} has no record yet.")
    if not 1 <= wanted <= newest:
        return Result.not_found(f"{key} has no version {wanted}; there are 1 to {newest}.")
    try:
        return Result(True, "", record.at(script, wanted))
    except audit.ArchivedError as error:
        return _archived(error)


def _archived(error: audit.ArchivedError) -> Result:
    text = str(error)
    return Result.not_found(f"{text[:1].upper()}{text[1:]}.")


def _version_at(script: AssistantScript, text: str) -> Result[int | None]:
    try:
        moment = moment_of(text, datetime.now(UTC))
    except ValueError as error:
        return Result.invalid(str(error))
    try:
        return Result(True, "", current_log().version_at(script, moment))
    except audit.ArchivedError as error:
        return _archived(error)
    except KeyError:
        when = moment.isoformat(timespec="seconds")
        return Result.not_found(f"{script.key} has no record of {when}.")


def changes_between(
    before: Mapping[str, object], after: Mapping[str, object]
) -> Iterator[StateChange]:
    """The values that differ, at any depth, by their paths."""
    old, new = dict(_flat(before)), dict(_flat(after))
    for path in sorted(old.keys() | new.keys()):
        was, now = old.get(path), new.get(path)
        if was != now and path != "version":
            yield {"path": path, "before": was, "after": now}


def _flat(value: Mapping[str, object], path: str = "") -> Iterator[tuple[str, Any]]:
    # Empty mappings are values too: else one that became empty would not show as changed.
    for name, item in value.items():
        here = f"{path}{name}"
        if isinstance(item, Mapping) and item:
            yield from _flat(item, f"{here}.")
        else:
            yield here, item


# ---- consistency check -------------------------------------------------------------------------


def check_audit(script: AssistantScript, *, fresh: bool = False) -> Result[list[Unlike]]:
    """Compare the audit log with what the assistant stores; the data are the differences.

    Args:
        fresh: read both from the database, past all caches of this process.
    """
    key, record = str(script.key), audit.application() if fresh else current_log()
    stored = stored_values(script, is_fresh=fresh)
    count = len(stored["execution_log"])
    entries = audit.application().page(script, limit=min(count, MOST_CALLS), events=(TOOL,))
    calls = [entry.details for entry in entries]
    # Old events may be archived, and only so many are read: then `execution_log` may go back
    # further than the calls found here.
    has_all = bool(record.page(script, before=2, limit=1)) and count <= MOST_CALLS
    rows = differences(_newest(script), stored, calls, has_all=has_all)
    if not rows:
        return Result(True, f"The record of {key} agrees with what it stores.", rows)
    lines = [_line(row["path"], row["record"], row["state"], "record", "state") for row in rows]
    return Result(True, _listed(f"{key}: {counted(len(rows), 'differences')}.", lines), rows)


def _newest(script: AssistantScript) -> dict[str, Any]:
    # An assistant without any event yet counts as new.
    try:
        known = audit.application().newest(script)
    except KeyError:
        subject = subject_of(script)
        assert subject is not None  # every assistant is one
        known = begin(subject, {}, datetime.now(UTC))
    data: dict[str, Any] = known.as_data()
    return data


# ---- messages ----------------------------------------------------------------------------------


def _line(path: str, old: object, new: object, *words: str) -> str:
    values = [json.dumps(value, ensure_ascii=False, default=str) for value in (old, new)]
    texts = [one_line(value, LONGEST_LINE // 2) for value in values]
    if words:
        return f"{path}: {words[0]} {texts[0]}, {words[1]} {texts[1]}"
    return f"{path}: {texts[0]} -> {texts[1]}"


def _listed(head: str, lines: Sequence[str]) -> str:
    more = len(lines) - MOST_LINES
    rest = [f"and {more} more"] if more > 0 else []
    return "\n".join([head, *(f"  {line}" for line in (*lines[:MOST_LINES], *rest))])
