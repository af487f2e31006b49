"""Sentences of a message that was heard: what it was, its outcome, and what stood in the way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evennia_ai.approvals import holding
from evennia_ai.core.hearing.inbox import OWN, RUN_BY_HAND
from evennia_ai.core.safety.notices import limit_words
from evennia_ai.core.safety.prices import NANO
from evennia_ai.core.text.words import counted, money
from evennia_ai.core.turn.executions import ANSWERED, FAILED, SILENT
from evennia_ai.core.turn.react import StopReason
from evennia_ai.operations.budget.caps import known_cost
from evennia_ai.operations.times import spoken

NOBODY = "the game itself"
Row = Mapping[str, Any]
_HEARD = {
    "whisper": "{who} whispered to me",
    "page": "{who} paged me",
    "say": "{who} said something here",
    "pose": "{who} posed here",
    "channel": "{who} spoke on the channel {place}",
    "emit": "{who} did something here",
    "move": "{who} came or went",
    "system": "the game told me something",
}
_TO_ME = {"say": "{who} spoke to me", "pose": "{who} posed at me"}
_ADDRESSED = ("direct_address", "continued_address", "direct_message")
_DID = {ANSWERED: "I answered", SILENT: "I chose to say nothing", FAILED: "I could not answer"}
# The outcome of a message by its last step; the first of these that the step begins with counts.
_STEPS = {
    "answered": "I answered",
    "silent by choice": "I chose to say nothing",
    "failed": "I could not answer",
    "refused: limit": "I refused it because it was over a limit",
    "refused": "I refused it",
    "hushed": "I kept quiet because I was hushed here",
    "silent": "I did not answer because I was silent then",
    f"waits: {holding.ASIDE}": "it waits until my question about another message is answered",
    "waits": "I am waiting until they come back",
    "cut off": "I was cut off",
    "returned": "I returned it unanswered",
    "expired": "it waited too long, so I dropped it",
    "not begun: limit": "I did not start because a limit was used up",
    "dropped": "I dropped it unanswered",
    "heard once": "it was sent to me twice, and I answer the first",
    "broke off": "I stopped because nobody was there to hear me",
    "goes on": "I am still working on it",
    "asked": "I asked for permission",
    "taken": "I am working on it",
    "queued": "it is waiting for me",
    "joined": "it is waiting for me",
    "by hand: done": "I did it",
    "by hand": "it did not work",
}
_RULES = {
    "interaction_disabled": "I did not listen because my hearing is off",
    "muted": "I did not hear it because I was muted",
    "own_speech": "those were my own words",
    "self_message": "it was only a message for myself",
    "command_output": "it was the output of my own command",
    "hop_limit": "I ignored it because assistants had talked enough",
    "assistant_cross_talk": "I ignored it because it came from an assistant",
}
_OUTCOMES = {
    "trigger": "it is waiting for me",
    "context": "I only listened",
    "capture": "it was the output of my own command",
    "ignore": "it was not addressed to me",
}


def sentence(name: str, row: Row, now: float, *, whom: str = "") -> str:
    """Describe a message in one line: what was heard, its outcome, and what stood in the way.

    Args:
        name: the assistant's name, as the reader knows it.
        now: seconds since 1970.
        whom: "you" where the reader is the sender; "": the sender's name.
    """
    return f"{name}: {_heard(row, whom)} {spoken(row['at_seconds'], now)}; {'; '.join(_did(row))}."


def listed(row: Row, now: float) -> str:
    """Describe a message in a line of a list: shorter, with its number and its words."""
    return f"{row['number'] or '-':>5}  {brief(row, now)}"


def brief(row: Row, now: float) -> str:
    """Describe a message as `listed` does, without its number."""
    words = f' "{row["text"]}"' if row["text"] else ""
    return f"{spoken(row['at_seconds'], now)} {_heard(row, '')}{words}; {_did(row)[0]}"


def cost_of(row: Row) -> str:
    """The cost of a turn, in words."""
    dollars, unpriced = row.get("cost_nano", 0) / NANO, row.get("unpriced_calls", 0)
    if not dollars:
        return "at an unknown price" if unpriced else "for free"
    return f"for {known_cost(money(dollars), dollars, unpriced)}"


def _heard(row: Row, whom: str) -> str:
    if row.get("kind") == OWN:
        return "I started something on my own"
    source, rule = row["source"], row.get("rule_name")
    frame = "{who} had me use a tool" if rule == RUN_BY_HAND else _HEARD[source]
    frame = _TO_ME.get(source, frame) if rule in _ADDRESSED else frame
    text = frame.format(who=whom or row["sender"] or NOBODY, place=row["place"] or "?")
    return text[:1].upper() + text[1:]  # not `capitalize`, which lowers the rest


def _did(row: Row) -> list[str]:
    if "result" in row:
        is_vain = row["result"] == FAILED and not any(map(row.get, ("prompt_tokens", "cost_nano")))
        calls = 0 if is_vain else row.get("calls")  # no model answered these, if they were sent
        paid = f" after {counted(calls, 'calls')} {cost_of(row)}" if calls else ""
        return [f"{_DID.get(row['result'], 'I worked on it')}{paid}", *_hindrance(row)]
    steps = [f"{step['step']}: {step['detail']}" for step in row["steps"]]
    words_said = next(
        (_STEPS[start] for step in reversed(steps) for start in _STEPS if step.startswith(start)),
        "",
    )
    judged = _RULES.get(row["rule_name"]) or _OUTCOMES.get(row["outcome"], "I took note of it")
    return [words_said or judged]


def _hindrance(row: Row) -> list[str]:
    if row["limits"]:
        return [f"I reached {' and '.join(map(limit_words, row['limits']))}"]
    if row["result"] == FAILED and row["stop"] in tuple(StopReason):
        return [StopReason(row["stop"]).text]
    if row["result"] != ANSWERED or "tools" not in row:  # tools are for staff
        return []
    failed = dict.fromkeys(tool["name"] for tool in row["tools"] if not tool["success"])
    return [f"my tool {' and '.join(failed)} failed" if failed else "nothing went wrong"]
