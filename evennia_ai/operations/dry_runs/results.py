"""The outcome of a dry run, as plain values for people and programs."""

from __future__ import annotations

import json
from dataclasses import dataclass

from evennia_ai.core.hearing.audience import way_of
from evennia_ai.core.hearing.decision_traces import DecisionTrace
from evennia_ai.core.turn.speech import ANSWERS
from evennia_ai.engine.dry import Intent
from evennia_ai.operations.dry_runs.turn import DryTurn
from evennia_ai.operations.rights.private_words import PrivateView
from evennia_ai.operations.turns.explaining import row_of
from evennia_ai.operations.turns.recorded import Recorded, seen
from evennia_ai.operations.turns.sentences import cost_of
from evennia_ai.operations.turns.traces import HeardRow
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.tools.registry import SPECS

SPEAKING = ANSWERS | {"emote"}
MESSAGE = ("message",)


@dataclass(frozen=True, slots=True)
class Deed:
    """A tool call that the assistant would make, or would be refused.

    Attributes:
        told: target and other arguments, in words.
        words: what it would say by the call; "" where it says nothing.
        would: the call would be run; else `how` says why not.
        how: in what other way the call would be run; "" where just as asked.
    """

    tool: str
    told: str
    words: str
    would: bool
    how: str


@dataclass(frozen=True, slots=True)
class DrySide:
    """One side of a dry run: the assistant as it is, or with changes.

    Attributes:
        title: the changes, in words.
        heard: the verdict on the message, its trust, and the steps that followed.
        would_answer: the message would start a turn.
        ended: why the turn ended, in words.
        deeds: what the assistant would say and do, in order.
        turn: what its model was sent and replied; None where it was not called.
        calls: number of model calls.
        seconds: duration of the turn.
        cost: cost of the turn, in words.
    """

    title: str
    heard: HeardRow
    would_answer: bool
    ended: str
    deeds: tuple[Deed, ...] = ()
    turn: Recorded | None = None
    calls: int = 0
    seconds: float = 0.0
    cost: str = ""


def heard_row(record: DecisionTrace) -> HeardRow:
    """The verdict on the message; all of it is shown, since the reader typed the message."""
    return row_of(record, is_staff=True, look=PrivateView(record.heard.person))


def side_of(
    title: str, stand_in: Assistant, record: DecisionTrace, dry: DryTurn, ended: str
) -> DrySide:
    """Collect one side of a dry run from its turn.

    Args:
        ended: why the turn was broken off; "": it ended by itself, for the reason that it recorded.
    """
    turn = dry.turn
    spent = {"cost_nano": turn.spent.nano, "unpriced_calls": turn.spent.unpriced}
    # The prompt was made for the reader, and holds only what they may see: nothing is masked.
    look = PrivateView(turn.event.face, is_revealing=True)
    recorded = seen(stand_in, dry.record, look, is_tried=True) if dry.record is not None else None
    return DrySide(
        title,
        heard_row(record),
        True,
        ended or (recorded["why"] if recorded is not None else ""),
        tuple(map(_deed, dry.intents)),
        recorded,
        turn.spent.calls,
        stand_in.clock.seconds() - turn.began_seconds,
        cost_of(spent),
    )


def _deed(intent: Intent) -> Deed:
    call = intent.call
    spec = SPECS.get(call.name)
    speaks = spec is not None and call.name in SPEAKING
    names = (way_of(spec).words or MESSAGE) if spec is not None and speaks else ()
    spoken = next((name for name in names if name in call.arguments), "")
    words = str(call.arguments[spoken]) if spoken else ""
    rest = {name: value for name, value in call.arguments.items() if name != spoken}
    others = ", ".join(f"{name}: {_as_text(value)}" for name, value in rest.items())
    return Deed(call.name, others, words, intent.would, intent.how)


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
