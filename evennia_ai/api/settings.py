"""Endpoints of an assistant's settings, its prompt, and its edits with undo and redo."""

from __future__ import annotations

from collections.abc import Callable

from evennia_ai.api import requests
from evennia_ai.api.base import require, require_found
from evennia_ai.api.problems import problem
from evennia_ai.api.rows import ONE, Call, Route, Row
from evennia_ai.core.turn.contexts import ContextType
from evennia_ai.operations import Result
from evennia_ai.operations.audit import undoing
from evennia_ai.operations.audit.edits import Edit
from evennia_ai.operations.models import shown_prompts
from evennia_ai.operations.result import ProblemKind
from evennia_ai.operations.settings import changing
from evennia_ai.operations.settings.rows import SettingRow

SETTINGS = "Settings"

ROW = {
    "name": "tick_rate",
    "value": 5,
    "default": 5,
    "is_default": True,
    "text": "seconds between beats; an event does not wait for the next one",
    "type": "int",
}

CHANGE = {"name": "tick_rate", "old": 10, "value": 5}

MADE = {
    "number": 12,
    "at": "2026-01-31T12:00:00+00:00",
    "by": "Tom",
    "changes": [{"name": "tick_rate", "old": 5, "value": 10}],
}


# ---- settings ----------------------------------------------------------------------------------


def _configure(call: Call) -> Result:
    if not call.body:
        raise problem(ProblemKind.INVALID, "Name at least one setting, such as tick_rate.")
    # Some settings give powers, which takes more than the row's right.
    require(call.account, changing.act_to_configure(call.body), call.script)
    return changing.update_settings(call.script, call.body, by=call.by)


def _setting(call: Call) -> Result:
    return require_found(changing.show_setting(call.script, call.path["setting"]))


def _unset(call: Call) -> Result:
    path = _setting(call).data["name"]
    require(call.account, changing.act_to_configure([path]), call.script)
    return changing.unset_setting(call.script, path, by=call.by)


def _prompt(call: Call) -> Result:
    is_whole = call.query.get("show") == "messages"
    context = call.query.get("context") or ContextType.TICK_EVENT
    result = shown_prompts.show_prompt(
        call.script, call.account, is_whole=is_whole, context=context
    )
    # The query was validated, so it is the assistant's state that allows no prompt.
    if not result.ok:
        raise problem(ProblemKind.CONFLICT, result.message)
    return result


def _edited(call: Call, found: Edit | Result, change: Callable[..., Result]) -> Result:
    """Undo or redo an edit, if the caller also has the rights that the edit itself needed."""
    if isinstance(found, Result):
        return found
    for act in undoing.acts_of(found):
        require(call.account, act, call.script)
    return change(call.script, found, by=call.by, person=call.account)


ROWS = (
    Row(
        Route("GET", f"{ONE}configuration/", "configuration", "show configuration", SETTINGS),
        lambda call: changing.configuration(call.script),
        "List the settings of an assistant",
        "Each with what holds and what would hold by default; what is secret is masked.",
        result=changing.AllSettings,
        answer={"settings": [ROW]},
    ),
    Row(
        Route("PATCH", f"{ONE}configuration/", "configuration", "configure", SETTINGS),
        _configure,
        "Set settings of an assistant",
        "Several at once, by name: all of them or, where one is wrong, none.",
        result=changing.Changed,
        body=requests.SettingChanges,
        example={"tick_rate": 10, "execution_config.sub_agents_enabled": True},
        answer={"message": "Edda: 2 settings are changed."},
    ),
    Row(
        Route(
            "GET", f"{ONE}configuration/<str:setting>/", "setting", "show configuration", SETTINGS
        ),
        _setting,
        "Show a setting of an assistant",
        "A name, or a key within one, such as `execution_config.sub_agents_enabled`.",
        result=SettingRow,
        answer=ROW,
    ),
    Row(
        Route("DELETE", f"{ONE}configuration/<str:setting>/", "setting", "configure", SETTINGS),
        _unset,
        "Let a setting be as by default",
        "What was set is forgotten; what the game sets holds again.",
        result=changing.Changed,
        answer={"message": "Edda: tick_rate is 5 again."},
    ),
    Row(
        Route("GET", f"{ONE}prompts/", "prompts", "show prompts", SETTINGS),
        _prompt,
        "See what an assistant's model would be sent",
        "The prompt that a whisper of yours would cause, or what is asked in another context.",
        result=shown_prompts.ShownPrompt,
        says="text",
        query=requests.Prompted,
    ),
    Row(
        Route("GET", f"{ONE}edits/", "edits", "show configuration", SETTINGS),
        lambda call: undoing.list_edits(call.script),
        "List the edits that can be taken back",
        "The newest first, and those that were taken back and can be made again.",
        result=undoing.KnownEdits,
        answer={"edits": [MADE], "undone": []},
    ),
    Row(
        Route("POST", f"{ONE}undo/", "undo", "undo", SETTINGS),
        lambda call: _edited(
            call, undoing.find_undo(call.script, call.body.get("number")), undoing.undo
        ),
        "Take an edit back",
        "The newest, or that of a number; what was changed again since is refused.",
        result=undoing.Undone,
        body=requests.EditNumber,
        example={"number": 12},
        answer={"message": "Edda: tick_rate: 10 -> 5", "number": 12, "changes": [CHANGE]},
    ),
    Row(
        Route("POST", f"{ONE}redo/", "redo", "undo", SETTINGS),
        lambda call: _edited(call, undoing.find_redo(call.script), undoing.redo),
        "Make an edit again that was taken back",
        "The one that was taken back last, unless somebody edited something else since.",
        result=undoing.Undone,
        answer={"message": "Edda: tick_rate: 5 -> 10", "number": 12, "changes": [CHANGE]},
    ),
)
