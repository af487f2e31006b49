"""Endpoints of an assistant's settings, its prompt, and its edits with undo and redo."""

from __future__ import annotations

from evennia_ai.api import requests
from evennia_ai.api.base import require, require_found
from evennia_ai.api.problems import problem
from evennia_ai.api.rows import ONE, Call, Route, Row, Tag
from evennia_ai.core.turn.contexts import ContextType
from evennia_ai.operations import Result
from evennia_ai.operations.audit import undoing
from evennia_ai.operations.models import shown_prompts
from evennia_ai.operations.result import ProblemKind
from evennia_ai.operations.settings import changing
from evennia_ai.operations.settings.rows import SettingRow

SETTINGS = Tag("Settings", "Settings, and the prompts that a model is sent.")
ONE_SETTING = f"{ONE}configuration/<str:setting>/"

ROW = {
    "name": "tick_rate",
    "value": 5,
    "default": 5,
    "is_default": True,
    "text": "seconds between beats of its script; an event does not wait for the next one",
    "type": "int",
}

CHANGE = {"name": "tick_rate", "old": 10, "value": 5}

MADE = {
    "number": 12,
    "at": "2026-01-31T12:00:00+00:00",
    "by": "Tom",
    "changes": [{"name": "tick_rate", "old": 5, "value": 10}],
}


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


def _undo(call: Call) -> Result:
    edit = undoing.find_undo(call.script, call.body.get("number"))
    return undoing.change_as(call.account, call.script, edit, undoing.undo)


def _redo(call: Call) -> Result:
    edit = undoing.find_redo(call.script)
    return undoing.change_as(call.account, call.script, edit, undoing.redo)


ROWS = (
    Row(
        Route("GET", f"{ONE}configuration/", "configuration", "show configuration", SETTINGS),
        lambda call: changing.configuration(call.script),
        "List the settings of an assistant",
        "Each with its value and its default; secrets are masked.",
        result=changing.AllSettings,
        answer={"settings": [ROW]},
    ),
    Row(
        Route("PATCH", f"{ONE}configuration/", "configuration", "configure", SETTINGS),
        _configure,
        "Set settings of an assistant",
        "Changes several settings by name: all of them, or none if one is invalid.",
        result=changing.Changed,
        body=requests.SettingChanges,
        example={"tick_rate": 10, "execution_config.sub_agents_enabled": True},
        answer={"message": "Edda: 2 settings are changed."},
    ),
    Row(
        Route("GET", ONE_SETTING, "setting", "show configuration", SETTINGS),
        _setting,
        "Show a setting of an assistant",
        "By its name, or a key within one, such as `execution_config.sub_agents_enabled`.",
        result=SettingRow,
        answer=ROW,
    ),
    Row(
        Route("DELETE", ONE_SETTING, "setting", "configure", SETTINGS),
        _unset,
        "Reset a setting to its default",
        "Removes the assistant's own value; the game's value or the default applies again.",
        operation_id="let_a_setting_be_as_by_default",
        result=changing.Changed,
        answer={"message": "Edda: tick_rate is 5 again."},
    ),
    Row(
        Route("GET", f"{ONE}prompts/", "prompts", "show prompts", SETTINGS),
        _prompt,
        "See what an assistant's model would be sent",
        "The prompt that a whisper from you would cause, or the prompt of another context.",
        result=shown_prompts.ShownPrompt,
        says="text",
        query=requests.Prompted,
    ),
    Row(
        Route("GET", f"{ONE}edits/", "edits", "show configuration", SETTINGS),
        lambda call: undoing.list_edits(call.script),
        "List the edits that can be undone",
        "The newest first; also the undone edits that can be redone.",
        operation_id="list_the_edits_that_can_be_taken_back",
        result=undoing.KnownEdits,
        answer={"edits": [MADE], "undone": []},
    ),
    Row(
        Route("POST", f"{ONE}undo/", "undo", "undo", SETTINGS),
        _undo,
        "Undo an edit",
        "Undoes the newest edit, or the one with the given number; refused if the value "
        "was changed again since.",
        operation_id="take_an_edit_back",
        result=undoing.Undone,
        body=requests.EditNumber,
        example={"number": 12},
        answer={"message": "Edda: tick_rate: 10 -> 5", "number": 12, "changes": [CHANGE]},
    ),
    Row(
        Route("POST", f"{ONE}redo/", "redo", "undo", SETTINGS),
        _redo,
        "Redo an edit",
        "Redoes the edit that was undone last, unless something else was edited since.",
        operation_id="make_an_edit_again_that_was_taken_back",
        result=undoing.Undone,
        answer={"message": "Edda: tick_rate: 5 -> 10", "number": 12, "changes": [CHANGE]},
    ),
)
