"""Pages of one assistant's audit log: timeline, past states, differences, and exports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

from evennia_ai.operations import AssistantScript, Result
from evennia_ai.operations.audit import log
from evennia_ai.operations.audit.check import Unlike
from evennia_ai.operations.files import exports
from evennia_ai.operations.files.exports import file_name
from evennia_ai.operations.rights import is_allowed
from evennia_ai.web import edits
from evennia_ai.web.edits import change_of
from evennia_ai.web.forms import require_confirmation, time_shown, value_shown
from evennia_ai.web.pages.records import timeline
from evennia_ai.web.rows import ONE, Action, Download, File, Page, Shown, Visit

LINES = "application/jsonl"


# ---- the timeline ------------------------------------------------------------------------------


def _show(visit: Visit) -> Shown:
    script, account = visit.assistant, visit.account
    # Only on request: the check compares the log with everything that the assistant stores.
    checked: list[Unlike] | None = None
    if visit.query.get("check"):
        checked = log.check_audit(script).data
    return {
        **timeline(visit, script),
        **edits.edits_of(visit, None),
        "may_export": is_allowed("export audit", account, script),
        "checked": checked,
        "differences": [
            change_of(each["path"], each["record"], each["state"]) for each in checked or ()
        ],
    }


# ---- moments -----------------------------------------------------------------------------------


def _show_state(visit: Visit) -> Shown:
    """Show the state at the moment in the query string, or the current one."""
    moment = visit.query.get("at", "")
    at: Result[Any] = log.find_version(visit.assistant, moment)
    result = log.audit_state(visit.assistant, at.data) if at.ok else at
    shown = {"asked": moment, "told": result.message, "groups": []}
    if not result.ok:
        visit.result = result
        return shown
    data = result.data
    return {
        **shown,
        "version": data.version,
        "at": time_shown(data.at),
        "groups": list(_groups(data.state)),
    }


def _groups(state: Mapping[str, object]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    # Values that are not mappings come first, then each mapping under a heading of its own.
    alone = [(name, value_shown(v)) for name, v in state.items() if not _is_group(v)]
    yield "itself", alone
    for name, value in state.items():
        if _is_group(value):
            yield name.replace("_", " "), [(key, value_shown(v)) for key, v in value.items()]


def _is_group(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, Mapping) and bool(value)


def _show_difference(visit: Visit) -> Shown:
    """Show the difference between two moments; without a second one, until now."""
    a, b = visit.query.get("a", ""), visit.query.get("b", "")
    shown: dict[str, Any] = {"a": a, "b": b, "changes": None}
    if not a.strip():
        return shown
    result = _difference(visit.assistant, a, b)
    if not result.ok:
        visit.result = result
        return shown
    data = result.data
    return {
        **shown,
        "first": f"Version {data['from']}",
        "last": f"Version {data['to']}",
        "changes": [change_of(row["path"], row["before"], row["after"]) for row in data["changes"]],
    }


def _difference(script: AssistantScript, a: str, b: str) -> Result[Any]:
    first, last = (log.find_version(script, text) for text in (a, b))
    if wrong := next((each for each in (first, last) if not each.ok), None):
        return wrong
    return log.audit_difference(script, first.data, last.data)


# ---- buttons -----------------------------------------------------------------------------------


def _archive(visit: Visit) -> Result:
    refused = require_confirmation(
        visit, "what is old leaves the database, and is in a file from then on."
    )
    return refused or exports.archive_audit(visit.assistant, by=visit.by)


def _export(visit: Visit) -> Result[File]:
    result = exports.audit_lines(visit.assistant)
    if not result.ok:
        return result.as_refusal()
    name = file_name("audit", visit.assistant.key, ending="jsonl")
    return result.with_data(File(name, result.data.encode("utf-8", "replace"), LINES))


PAGES = (
    Page(f"{ONE}audit/", "audit", "Audit", "audit", _show),
    Page(f"{ONE}audit/state/", "audit-state", "As it was", "audit", _show_state, in_menu=False),
    Page(
        f"{ONE}audit/difference/",
        "audit-difference",
        "What changed",
        "audit",
        _show_difference,
        in_menu=False,
    ),
)
ACTIONS = (
    *edits.actions("audit"),
    Action(
        f"{ONE}audit/file/",
        "audit-file",
        "audit",
        "export audit",
        lambda visit: exports.export_audit(visit.assistant),
    ),
    Action(f"{ONE}audit/archive/", "audit-archive", "audit", "archive audit", _archive),
)
DOWNLOADS = (Download(f"{ONE}audit/export/", "audit-export", "audit", "export audit", _export),)
