"""One line that a person would say of a message, for `assistant why` and its lists.

It names no setting, no rule and no tool: those stand in what `full` shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evennia_ai.core.hearing.inbox import OWN
from evennia_ai.core.safety.limits import counted
from evennia_ai.core.safety.notices import limit_words
from evennia_ai.core.safety.prices import NANO
from evennia_ai.core.turn.executions import ANSWERED, FAILED, SILENT
from evennia_ai.core.turn.react import ENDINGS, StopReason
from evennia_ai.operations.days import spoken

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
# What became of a message, by the newest of its steps that is among these.
_STEPS = {
    "answered": "I answered",
    "silent by choice": "I chose to say nothing",
    "failed": "I could not answer",
    "refused": "I turned it away, since it was more than I may take",
    "hushed": "I kept quiet, as I was asked to here",
    "silent": "I did not answer, since I was silent then",
    "waits": "I wait until they are back",
    "cut off": "I was cut off",
    "returned": "I gave it back unanswered",
    "expired": "it waited too long, so I gave it up",
    "dropped": "I dropped it unanswered",
    "broke off": "I broke off, since nobody was there to hear me",
    "goes on": "I am still at it",
    "asked": "I asked whether I may",
    "taken": "I am at it",
    "queued": "it waits for me",
    "joined": "it waits for me",
}
_RULES = {
    "interaction_disabled": "I did not listen, since I hear nobody now",
    "muted": "I did not hear it, since they muted me",
    "own_speech": "those were my own words",
    "self_message": "it was only told to me",
    "command_output": "it was what I had asked the game for",
    "hop_limit": "I let it be, since we assistants had talked enough",
    "assistant_cross_talk": "I let it be, since it was an assistant's",
}
_OUTCOMES = {
    "trigger": "it is before me",
    "context": "I only listened",
    "capture": "it was what I had asked the game for",
    "ignore": "it was not meant for me",
}


def sentence(name: str, row: Row, now: float, *, whom: str = "") -> str:
    """What was heard, what became of it, and what stood in the way, in one line.

    Args:
        name: whose message it is, as whoever reads knows that assistant.
        now: seconds since 1970.
        whom: "you" where whoever reads said it; else the sender's name.
    """
    return f"{name}: {_heard(row, whom)} {spoken(row['at_seconds'], now)}; {'; '.join(_did(row))}."


def listed(row: Row, now: float) -> str:
    """The same for a list: shorter, with its number and its words."""
    words = f' "{row["text"]}"' if row["text"] else ""
    told = f"{spoken(row['at_seconds'], now)} {_heard(row, '')}{words}; {_did(row)[0]}"
    return f"{row['number'] or '-':>5}  {told}"


def cost_of(row: Row) -> str:
    """Money in words; what is too little for four digits is said so."""
    if row.get("unpriced_calls"):
        return "at a price nobody set"
    dollars = row.get("cost_nano", 0) / NANO
    if not dollars:
        return "for free"
    return f"for ${dollars:,.4f}" if dollars >= 0.0001 else "for less than $0.0001"


def _heard(row: Row, whom: str) -> str:
    if row.get("kind") == OWN:
        return "I began something by myself"
    is_to_me = row.get("rule_name") in _ADDRESSED
    frame = (_TO_ME if is_to_me else {}).get(row["source"]) or _HEARD[row["source"]]
    told = frame.format(who=whom or row["sender"] or NOBODY, place=row["place"] or "?")
    return told[:1].upper() + told[1:]


def _did(row: Row) -> list[str]:
    """What it did, and what stood in the way where there is something to say of that."""
    if "result" in row:
        paid = f" after {counted(row['calls'], 'calls')} {cost_of(row)}" if row.get("calls") else ""
        return [f"{_DID.get(row['result'], 'I was at it')}{paid}", *_hindrance(row)]
    steps = [step["step"] for step in row["steps"]]
    found = next((said for step in reversed(steps) if (said := _said(step))), "")
    if found:
        is_plain = steps[-1].startswith("answered")
        return [found, "nothing stood in the way"] if is_plain else [found]
    return [_RULES.get(row["rule_name"]) or _OUTCOMES.get(row["outcome"], "it was judged")]


def _said(step: str) -> str:
    return next((said for start, said in _STEPS.items() if step.startswith(start)), "")


def _hindrance(row: Row) -> list[str]:
    limits: Sequence[str] = row["limits"]
    if limits:
        return [f"I came to {' and '.join(map(limit_words, limits))}"]
    if row["result"] == FAILED and row["stop"] in tuple(StopReason):
        return [ENDINGS[StopReason(row["stop"])].text]
    return ["nothing stood in the way"] if row["result"] == ANSWERED else []
