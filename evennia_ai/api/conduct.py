"""An assistant's settings, talk, heard events, prompt and goals."""

from __future__ import annotations

from urllib.parse import quote

from django.urls import reverse

from evennia_ai import operations
from evennia_ai.api import asked
from evennia_ai.api.base import NOT_YOURS, limit_of, look_of, missing
from evennia_ai.api.problems import problem
from evennia_ai.api.rows import ONE, Call, Route, Row
from evennia_ai.core.turn.goals import COMPLETED
from evennia_ai.operations import Result, conversation, explaining, goals, prompts, settings
from evennia_ai.operations.result import Problem
from evennia_ai.operations.rights import refusal
from evennia_ai.operations.setting_rows import SettingRow
from evennia_ai.operations.times import WHEN, span_of
from evennia_ai.operations.traces import TracedPage

SETTINGS, TALK, WORK = "Settings", "Talk", "Goals and tools"
ROW = {
    "name": "tick_rate",
    "value": 5,
    "default": 5,
    "is_default": True,
    "text": "seconds between beats; an event does not wait for one",
    "type": "int",
}


# ---- settings ----------------------------------------------------------------------------------


def _require(act: str, call: Call) -> None:
    """Refuse what needs a right beside the one that the row asks for."""
    if act != "configure" and refusal(act, call.account, call.script) is not None:
        raise problem(Problem.FORBIDDEN, NOT_YOURS)


def _configure(call: Call) -> Result:
    if not call.body:
        raise problem(Problem.INVALID, "Name at least one setting, such as tick_rate.")
    _require(settings.act_to_configure(call.body), call)
    return settings.update_settings(call.script, call.body, by=call.by)


def _setting(call: Call) -> Result:
    shown = settings.show_setting(call.script, call.path["setting"])
    if not shown.ok:
        raise missing(shown.message)
    return shown


def _unset(call: Call) -> Result:
    path = _setting(call).data["name"]
    _require(settings.act_to_configure([path]), call)
    return settings.unset_setting(call.script, path, by=call.by)


def _prompt(call: Call) -> Result:
    is_whole = call.query.get("show") == "messages"
    result = prompts.show_prompt(call.script, call.account, is_whole=is_whole)
    if not result.ok:
        raise problem(Problem.CONFLICT, result.message)
    return result


# ---- talk --------------------------------------------------------------------------------------


def _history(call: Call) -> Result:
    if call.query.get("format") == "export":
        if refusal("export history", call.account, call.script) is not None:
            raise problem(Problem.FORBIDDEN, NOT_YOURS)
        return conversation.export_history(call.script, look=look_of(call))
    before, limit = call.query.get("before"), limit_of(call.query)
    return conversation.show_history(call.script, before=before, limit=limit, look=look_of(call))


def _events(call: Call) -> Result:
    before, limit = call.query.get("before"), limit_of(call.query)
    return explaining.heard(call.script, before=before, limit=limit, look=look_of(call))


def _why(call: Call) -> Result:
    result = explaining.why(call.script, number=call.path["number"], look=look_of(call))
    if not result.ok:
        raise missing(result.message)
    return result


def _trace(call: Call) -> Result:
    query, span = call.query, None
    if when := query.get("when", ""):
        span = span_of(when, call.script.clock.seconds())
        if span is None:
            raise problem(Problem.INVALID, f"{when!r} is no time; a time is like {WHEN}.")
    found = operations.trace(
        call.script,
        span=span,
        words=query.get("words", ""),
        before=query.get("before"),
        limit=limit_of(query),
        look=look_of(call),
    )
    # Where the game keeps no trace there is none, which is no mistake of whoever asks.
    return Result(True, found.message, found.data)


# ---- goals -------------------------------------------------------------------------------------


def _add_goal(call: Call) -> Result:
    text, priority = call.body["text"], call.body.get("priority", 5)
    added = operations.add_goal(call.script, text, priority, call.body.get("parent"))
    if added.ok:
        path = {"key": str(call.script.key), "number": added.data.id}
        address = reverse("evennia_ai_api:goal", kwargs=path)
        call.headers["Location"] = quote(address, safe="/%")
    return added


def _end_goal(call: Call) -> Result:
    number = call.path["number"]
    known = operations.list_goals(call.script).data
    if number not in {goal["id"] for goal in (*known.goals, *known.closed)}:
        raise missing(f"{call.script.key} has no goal {number}.")
    is_completed = call.body["status"] == COMPLETED
    closed = operations.close_goal(call.script, number, is_completed=is_completed)
    if not closed.ok:
        raise problem(Problem.CONFLICT, closed.message)
    return closed


ROWS = (
    Row(
        Route("GET", f"{ONE}configuration/", "configuration", "show configuration", SETTINGS),
        lambda call: settings.configuration(call.script),
        "List the settings of an assistant",
        "Each with what holds and what would hold by default; what is secret is masked.",
        result=settings.Settings,
        answer={"settings": [ROW]},
    ),
    Row(
        Route("PATCH", f"{ONE}configuration/", "configuration", "configure", SETTINGS),
        _configure,
        "Set settings of an assistant",
        "Several at once, by name: all of them or, where one is wrong, none.",
        result=settings.Changed,
        body=asked.Changes,
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
        result=settings.Changed,
        answer={"message": "Edda: tick_rate is 5 again."},
    ),
    Row(
        Route("GET", f"{ONE}history/", "history", "show history", TALK),
        _history,
        "Read an assistant's conversation",
        "The newest messages, or with `format=export` all of it as the model is sent it.\n\n"
        "What is private to others is masked, unless `reveal` is true.",
        result=conversation.Talk,
        query=asked.TalkBefore,
    ),
    Row(
        Route("DELETE", f"{ONE}history/", "history", "reset history", TALK),
        lambda call: operations.reset_history(call.script, by=call.by),
        "Begin an assistant's conversation anew",
        "What was said is forgotten, what is under way is dropped, and a stop is cleared.",
        answer={"message": "Edda starts a new conversation."},
    ),
    Row(
        Route("GET", f"{ONE}events/", "events", "events", TALK),
        _events,
        "List what an assistant heard, and what became of it",
        "The newest first, with the rule that decided and each step since.\n\n"
        "What was whispered or paged by others is masked, unless `reveal` is true.",
        result=explaining.HeardPage,
        query=asked.HeardBefore,
    ),
    Row(
        Route("GET", f"{ONE}events/<ai_number:number>/", "event", "events", TALK),
        _why,
        "Read why an assistant answered a message, or did not",
        "The rule, how far it trusted what it heard, and everything that came after.",
        result=explaining.Why,
        says="text",
        query=asked.Revealing,
    ),
    Row(
        Route("GET", f"{ONE}trace/", "trace", "events", TALK),
        _trace,
        "Read how an assistant came to its answers, days later",
        "The newest first: rule, model, calls, tokens, cost, tools, limits and prompt.\n\n"
        "What was said in private is not kept, unless the game keeps it: then it is masked, unless "
        "`reveal` is true. `words` finds only what was said publicly.",
        result=TracedPage,
        query=asked.TracedBefore,
    ),
    Row(
        Route("GET", f"{ONE}prompts/", "prompts", "show prompts", SETTINGS),
        _prompt,
        "See what an assistant's model would be sent",
        "The prompt that a whisper of yours would cause.",
        result=prompts.ShownPrompt,
        says="text",
        query=asked.Prompted,
    ),
    Row(
        Route("GET", f"{ONE}goals/", "goals", "status", WORK),
        lambda call: operations.list_goals(call.script),
        "List an assistant's goals",
        "The open ones, the most pressing first, and those that ended.",
        result=goals.Goals,
    ),
    Row(
        Route("POST", f"{ONE}goals/", "goals", "goal", WORK),
        _add_goal,
        "Give an assistant a goal",
        "It works on it by itself, as often as its `autonomy_config` says.",
        result=goals.GoalNumber,
        body=asked.NewGoal,
        status=201,
        example={"text": "Find the lost atlas.", "priority": 7},
        answer={"message": "Edda has goal 1.", "id": 1},
    ),
    Row(
        Route("PATCH", f"{ONE}goals/<ai_number:number>/", "goal", "goal", WORK),
        _end_goal,
        "End a goal",
        "As reached, or as given up.",
        body=asked.EndOfGoal,
        example={"status": "completed"},
        answer={"message": "Edda: goal 1 is completed."},
    ),
)
