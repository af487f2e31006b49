"""Endpoints of an assistant's audit log, usage and circuit breakers."""

from __future__ import annotations

import re

from evennia_ai.api import requests
from evennia_ai.api.base import limit_of, require, require_found
from evennia_ai.api.fields import PERSON
from evennia_ai.api.people import dbref_of
from evennia_ai.api.rows import ONE, Call, Route, Row, Tag
from evennia_ai.operations import Result, control
from evennia_ai.operations.audit import log
from evennia_ai.operations.budget import usage
from evennia_ai.operations.budget.players import PlayerBudget, budget_of_player, find_player
from evennia_ai.operations.budget.raising import raise_budget, raise_player_budget
from evennia_ai.operations.peers import overview

RECORD = Tag("Record", "The audit log, and the state of an assistant at any time.")
PLAYER = "people/<ai_person:person>/"
USE = Tag("Usage", "Usage, and circuit breakers of the services.")


def _record(call: Call) -> Result:
    before, limit = call.query.get("before"), limit_of(call.query)
    events = tuple(call.query.get("event", ()))
    return log.audit_log(call.script, before=before, limit=limit, events=events)


def _raise(call: Call) -> Result:
    is_bench = call.body.get("is_bench", False)
    cap, amount = call.body["cap"], str(call.body["amount"])
    return raise_budget(call.script, cap, amount, call.by, is_bench=is_bench)


def _player(call: Call) -> str:
    name = call.path["person"]
    # REST takes ids alone; over MCP, a model may say the player's name.
    player = dbref_of(name) if re.fullmatch(PERSON, name) else name
    return str(require_found(find_player(player)).data)


def _raise_of_player(call: Call) -> Result:
    cap, amount = call.body["cap"], str(call.body["amount"])
    return raise_player_budget(_player(call), cap, amount, call.by)


def _reset(call: Call) -> Result:
    result = require_found(control.find_breaker(call.script, call.path["name"]))
    name, scope = result.data["name"], result.data["scope"]
    # A breaker of the game serves all assistants, so closing it takes an owner.
    of_game = scope == control.GAME
    act = "reset breaker of the game" if of_game else "reset breaker"
    require(call.account, act, None if of_game else call.script)
    return control.reset_breaker(call.script, name, scope=scope, by=call.by)


ROWS = (
    Row(
        Route("GET", f"{ONE}audit/", "audit", "audit", RECORD),
        _record,
        "Read the record of an assistant",
        "Everything it did and everything done to it, the newest first.",
        result=log.FactPage,
        query=requests.FactsBefore,
    ),
    Row(
        Route("GET", f"{ONE}audit/state/", "audit-moment", "audit", RECORD),
        lambda call: log.audit_state(call.script, at=call.query.get("at")),
        "See what an assistant was like at a moment",
        "At `at`, or now.",
        result=log.PastState,
        query=requests.Moment,
    ),
    Row(
        Route("GET", f"{ONE}audit/difference/", "audit-difference", "audit", RECORD),
        lambda call: log.audit_difference(call.script, call.query["a"], call.query["b"]),
        "Compare an assistant at two versions",
        "What changed between version `a` and version `b`.",
        result=log.Difference,
        query=requests.Versions,
    ),
    Row(
        Route("GET", f"{ONE}audit/<ai_number:version>/", "audit-state", "audit", RECORD),
        lambda call: require_found(log.audit_state(call.script, call.path["version"])),
        "See what an assistant was like at a version",
        "Its state right after that event of the record.",
        result=log.PastState,
    ),
    Row(
        Route("GET", f"{ONE}usage/", "usage", "usage", USE),
        lambda call: usage.usage(call.script),
        "See what an assistant used",
        "Model calls, tokens, tools, and how much of its caps is left.",
        result=usage.Usage,
    ),
    Row(
        Route("POST", f"{ONE}budget/raise/", "raise-budget", "raise budget", USE),
        _raise,
        "Raise a cap of an assistant",
        "Until its day or month ends.",
        body=requests.RaisedCap,
        example={"cap": "tokens_per_day", "amount": 50_000},
        answer={"message": "Ada: tokens_per_day is raised by 50,000, until the day ends."},
    ),
    Row(
        Route("POST", "budget/raise/", "raise-game", "raise budget of the game", USE),
        _raise,
        "Raise a cap of the game",
        "Of all assistants together, or of the test bench, until its day or month ends.",
        body=requests.RaisedCapOfGame,
        example={"cap": "cost_per_day", "amount": 1.5},
        answer={"message": "The whole game: cost_per_day is raised by $1.50, until the day ends."},
    ),
    Row(
        Route("GET", f"{PLAYER}budget/", "player-budget", "usage", USE),
        lambda call: budget_of_player(_player(call)),
        "See the budget of a player",
        "How much of each cap the player has used, with all assistants together.",
        result=PlayerBudget,
    ),
    Row(
        Route("POST", f"{PLAYER}budget/raise/", "raise-player", "raise budget of a player", USE),
        _raise_of_player,
        "Raise a cap of a player",
        "With all assistants together, until its day or month ends.",
        body=requests.RaisedCap,
        example={"cap": "tokens_per_day", "amount": 50_000},
        answer={"message": "Mira: tokens_per_day is raised by 50,000, until the day ends."},
    ),
    Row(
        Route("GET", "peers/", "peers", "peers", USE),
        lambda call: overview.list_peers(call.query.get("account", "")),
        "List external agents that give tasks",
        "Over A2A: who asked whom, the state of each task, and what it cost, without "
        "the texts of the tasks. Also the external agents that assistants may ask "
        "(`remotes`).",
        operation_id="list_agents_elsewhere_that_give_tasks",
        result=overview.Peers,
        query=requests.OfAccount,
        may_be_missing=True,
    ),
    Row(
        Route("GET", f"{ONE}breakers/", "breakers", "show breakers", USE),
        lambda call: control.breakers(call.script),
        "List an assistant's breakers",
        "An open breaker stops calls to a service that keeps failing.",
        result=control.Breakers,
    ),
    Row(
        # `_reset` checks the greater right that the breaker's scope needs.
        Route("POST", f"{ONE}breakers/<path:name>/reset/", "reset-breaker", "show breakers", USE),
        _reset,
        "Close a breaker",
        "The service is called again at once.",
        result=control.BreakerRow,
        action="reset breaker",
        answer={"message": "llm:openai is closed."},
        needs="A breaker of the game needs an owner; one of the assistant needs `ai_control` "
        "over it.",
    ),
)
