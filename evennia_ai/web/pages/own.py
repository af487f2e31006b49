"""Pages for every account: what assistants remember of the visitor, who may change or delete it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict

from evennia_ai import operations
from evennia_ai.operations import AssistantScript, Result
from evennia_ai.operations.files.exports import as_file, file_name
from evennia_ai.operations.memory import own
from evennia_ai.operations.memory.profiles import (
    find_by_known_name,
    list_acquaintances,
    relationship_of,
)
from evennia_ai.web.forms import (
    AT_ONCE,
    next_page,
    offset_in,
    query_string,
    require_confirmation,
    time_shown,
)
from evennia_ai.web.rows import Action, Download, File, Page, Shown, Visit, page_address

OF = "of"


def _show(visit: Visit) -> Shown:
    known = list_acquaintances(visit.account).data
    counts = Counter(each.name for each in known)
    return {
        "assistants": [
            {**asdict(each), "query": query_string(of=each.mark), "alike": counts[each.name]}
            for each in known
        ]
    }


def _name(visit: Visit) -> str:
    # A name, or a mark that also tells apart assistants of the same name.
    return visit.form.get(OF) or visit.query.get(OF, "")


def _show_one(visit: Visit) -> Shown:
    result = find_by_known_name(_name(visit), visit.account)
    if not result.ok:
        visit.result = visit.result or result
        return {"one": None, OF: _name(visit)}
    first = offset_in(visit)
    known = own.what_is_known(result.data, visit.account, after=first).data
    if first and not known.known:  # the only one on the last page may have been forgotten
        first, known = 0, own.what_is_known(result.data, visit.account).data
    return {
        "one": relationship_of(result.data, visit.account),
        OF: _name(visit),
        "here": query_string(of=_name(visit), after=first or None),
        "known": [
            {**row, "at": time_shown(row["at"]), "superseded": time_shown(row["superseded"])}
            for row in known.known[:AT_ONCE]
        ],
        "more": next_page(known.count, first, of=_name(visit)),
        "count": known.count,
        "kept": own.KEPT,
        # The memory whose correction was refused: its field keeps the typed text.
        "failed": visit.form.get("number", "") if visit.result else "",
    }


# ---- buttons -----------------------------------------------------------------------------------


def _on_named_assistant(
    do: Callable[[AssistantScript, Visit], Result],
) -> Callable[[Visit], Result]:
    """Make an action that applies to the assistant named in the form."""

    def act(visit: Visit) -> Result:
        result = find_by_known_name(_name(visit), visit.account)
        return do(result.data, visit) if result.ok else result

    return act


def _correct(script: AssistantScript, visit: Visit) -> Result:
    number, text = visit.form.get("number", ""), visit.form.get("text", "")
    return operations.correct_known(script, visit.account, number, text)


def _forget(script: AssistantScript, visit: Visit) -> Result:
    return operations.forget_known(script, visit.account, visit.form.get("number", ""))


def _forget_all(script: AssistantScript, visit: Visit) -> Result:
    refused = require_confirmation(
        visit, "all memories of you are dropped, and all talk with you too."
    )
    return refused or operations.forget_everything(script, visit.account)


def _remember(script: AssistantScript, visit: Visit) -> Result:
    is_remembered = visit.form.get("remembered") == "yes"
    return operations.set_remembered(script, visit.account, is_remembered)


def _mute(script: AssistantScript, visit: Visit) -> Result:
    return operations.set_muted(script, visit.account, visit.form.get("muted") == "yes")


def _export(visit: Visit) -> Result[File]:
    result = find_by_known_name(_name(visit), visit.account)
    if not result.ok:
        return result.as_refusal()
    known = operations.export_known(result.data, visit.account)
    name = file_name("memories-of-me", known.data.assistant)
    return known.with_data(File(name, as_file(asdict(known.data))))


def _return_address(visit: Visit, _: object) -> str:
    """The page of that assistant, or the list once it has forgotten everything."""
    if not find_by_known_name(_name(visit), visit.account).ok:
        return page_address("mine")
    first = offset_in(visit)
    return f"{page_address('one-of-mine')}{query_string(of=_name(visit), after=first or None)}"


def _button(name: str, do: Callable[[AssistantScript, Visit], Result]) -> Action:
    return Action(
        f"me/memory/{name}/",
        f"my-{name}",
        "one-of-mine",
        "",
        _on_named_assistant(do),
        goes_to=_return_address,
    )


# Without a right: everybody manages what is remembered of them.
PAGES = (
    Page("me/", "mine", "What they know of me", "", _show),
    Page("me/memory/", "one-of-mine", "What it knows of me", "", _show_one, in_menu=False),
)
ACTIONS = (
    _button("correct", _correct),
    _button("forget", _forget),
    _button("forget-all", _forget_all),
    _button("remember", _remember),
    _button("mute", _mute),
)
DOWNLOADS = (Download("me/memory/export/", "my-export", "one-of-mine", "", _export),)
