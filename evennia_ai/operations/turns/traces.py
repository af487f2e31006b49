"""Stored traces of the messages that an assistant heard in the last days.

Readers see the same as in `assistant why` for a fresh message: staff everything except private
words, players only what is theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, cast

from django.db.models import F, Q, QuerySet
from typing_extensions import TypedDict

from evennia_ai.agent import tracing
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.turn.trace import EVIDENCE, FORGOTTEN, UNKEPT
from evennia_ai.core.typed_objects import Being
from evennia_ai.models import TracedMessage
from evennia_ai.models.containing import containing
from evennia_ai.operations.result import ProblemKind, Result, note
from evennia_ai.operations.rights.private_words import PrivateView
from evennia_ai.operations.times import Span, as_shown, in_the_game, iso
from evennia_ai.operations.turns.sentences import listed
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.rights import name_before

AT_ONCE, MOST_AT_ONCE, LONGEST_SEARCH = 20, 100, 100
NEWEST = ("-pk",)
# Costs are in a JSON column; among calls without a price the longest prompt comes first.
DEAREST = (
    F("facts__cost_nano").desc(nulls_last=True),
    F("facts__prompt_tokens").desc(nulls_last=True),
    "-pk",
)
NOT_KEPT = "(private, words not kept)"
UNWANTED = "(words not kept, as they asked)"
GONE = "(forgotten)"
OFF = "This game keeps no trace: its setting is 0 days."
FOR_ALL = ("result", "stop", "limits", "seconds", "together")
FOR_STAFF = (
    *("model", "calls", "prompt_tokens", "completion_tokens", "cost_nano", "unpriced_calls"),
    *("tools", "prompt"),
)
_LAST = {"silent": "silent by choice"}
# All that a player reads of a failure, by the reason of the turn's end.
_EXCUSES = {"stopped": "it was stopped"}
VAGUE = "its model kept changing its mind"


class Step(TypedDict):
    """A step in the processing of a message."""

    step: str
    detail: str


class HeardRow(TypedDict):
    """A message and its outcome."""

    number: int
    at: str
    at_seconds: Annotated[float, note("The same as Unix time, in seconds.")]
    sender: str
    source: str
    place: str
    text: str
    marks: Annotated[list[str], note("How it was addressed.")]
    known_by: Annotated[str, note("How the speaker was identified.")]
    rule: Annotated[int, note("Number of the rule that decided.")]
    rule_name: str
    outcome: str
    trust: float
    trust_because: str
    steps: list[Step]


class TracedTool(TypedDict):
    """A tool that was called, and its outcome."""

    name: str
    success: bool
    error: str


class Traced(HeardRow):
    """A message with its stored trace."""

    id: Annotated[int, note("Number of the entry; as `before` it gives older ones.")]
    shown_at: Annotated[str, note("Time of the message, in the game's time zone.")]
    game_time: Annotated[str, note("Time in the game's own calendar, or empty.")]
    kind: str
    sender_id: str
    answer: Annotated[str, note("The answer, or a note that private words are not stored.")]
    result: Annotated[str, note("`answered`, `silent` or `failed`.")]
    stop: Annotated[str, note("Why the turn ended.")]
    seconds: Annotated[float, note("Seconds from hearing the message to the answer.")]
    together: Annotated[list[int], note("Numbers of the messages that were answered together.")]
    limits: Annotated[list[str], note("Limits that the turn reached.")]
    model: Annotated[str, note("Model as `provider/name`.")]
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_nano: Annotated[int, note("Cost in nano-dollars (10^-9 US dollars).")]
    unpriced_calls: Annotated[int, note("Model calls without a configured price.")]
    tools: list[TracedTool]
    prompt: Annotated[dict[str, str], note("Fingerprint of each part of the prompt.")]


@dataclass(frozen=True, slots=True)
class TracedPage:
    """Messages with stored traces, the newest first."""

    messages: list[Traced]
    next: Annotated[int | None, note("Value of `before` for the next page; null on the last page.")]


def trace(
    script: AssistantScript,
    *,
    span: Span | None = None,
    words: str = "",
    before: int | None = None,
    limit: int = AT_ONCE,
    person: str | None = None,
    look: PrivateView | None = None,
    asker: Being | None = None,
    sender: str = "",
    result: str = "",
    by_cost: bool = False,
) -> Result[TracedPage]:
    """Search the stored messages that an assistant heard, with its answers, the newest first.

    Args:
        span: only messages heard in this span; None: all that are stored.
        words: only public messages, or messages with public answers, that have this text in them.
        before: only messages older than this id: the `next` of an earlier page.
        limit: number of messages, 1 to 100.
        person: only messages of this person ("*#3"), without causes for staff.
        look: the reader; None: only private words of `person` are shown.
        asker: the reader, who may know the assistant by another name; None for code.
        sender: only messages of people with this in their name.
        result: only turns with this result: "answered", "silent" or "failed".
        by_cost: the most expensive first; there is no `next`.
    """
    look, now = look or PrivateView(person or ""), script.clock.seconds()
    name, is_staff = name_before(script, asker), person is None
    if not tracing.trace_config().keep_days:
        return Result(False, OFF, TracedPage([], None), ProblemKind.NOT_FOUND)
    hits = _filtered(tracing.of(script.pk, now), span, words, person)
    hits = hits.filter(_match(sender, result, before)).order_by(*(DEAREST if by_cost else NEWEST))
    most = max(1, min(limit, MOST_AT_ONCE))
    page = list(hits[: most + 1])  # one more tells if there is a next page
    entries, is_more = page[:most], len(page) > most and not by_cost
    rows = [row_of(entry, now, is_staff=is_staff, look=look) for entry in entries]
    data = TracedPage(rows, entries[-1].pk if is_more else None)
    what = _search_text(span, words)
    if not rows:
        return Result(True, f"{name}: I heard nothing {what}.", data)
    head = f"{name}: what I heard {what}, the {'most expensive' if by_cost else 'newest'} first:"
    look.note(script, "what was heard")
    return Result(True, "\n".join([head, *(listed(row, now) for row in rows), *look.hint()]), data)


def find(
    script: Assistant,
    number: int | None = None,
    *,
    at: float | None = None,
    person: str | None = None,
) -> TracedMessage | None:
    """Find the stored trace of the newest message, or of the newest with a number.

    Args:
        number: number of the message; None: any.
        at: when it was heard, where known, since a crash may have used a number twice.
        person: only messages of this person.
    """
    given = {"number": number, "at": at, "person": person}
    filters = {name: value for name, value in given.items() if value is not None}
    messages = tracing.of(script.id, script.clock.seconds())  # only of the days that are kept
    newest: TracedMessage | None = messages.filter(**filters).order_by("-pk").first()
    return newest


def exported(script: AssistantScript, person: str, look: PrivateView) -> list[dict[str, object]]:
    """All stored traces of a person's messages, the newest first."""
    now = script.clock.seconds()
    messages = tracing.of(script.pk, now).filter(person=person).order_by("-pk")
    return [{**row_of(entry, now, is_staff=False, look=look)} for entry in messages.iterator()]


def row_of(entry: TracedMessage, now: float, *, is_staff: bool, look: PrivateView) -> Traced:
    """A stored trace as a row, with the fields of `explaining.row_of` and more.

    Args:
        is_staff: include causes that are for staff.
        look: the reader, for whom private words of others are masked.
    """
    facts = entry.facts
    answer = _words(entry, entry.answer, look, is_private=entry.is_answer_private)
    last = {"step": _LAST.get(facts["result"], facts["result"]), "detail": answer}
    if facts["result"] == "failed":
        last["detail"] = facts["why"] if is_staff else _EXCUSES.get(facts["stop"], VAGUE)
    row: Any = {
        "id": entry.pk,
        "number": entry.number,
        "at": iso(entry.at),
        "at_seconds": entry.at,
        "shown_at": as_shown(entry.at),
        "game_time": in_the_game(entry.at, now),
        "kind": facts["kind"],
        "sender": one_line(entry.name, 40) or (GONE if facts.get(FORGOTTEN) else ""),
        "sender_id": facts["face"] if is_staff else "",
        "source": facts["source"],
        "place": facts.get("place", ""),
        "text": _words(entry, entry.words, look, is_private=entry.is_private),
        "answer": answer,
        "marks": facts.get("marks", []),
        "known_by": EVIDENCE[facts.get("known_by", "none")],
        "rule": facts["rule"],
        "rule_name": facts.get("rule_name", ""),
        "outcome": facts.get("outcome", "trigger"),
        "trust": facts["trust"],
        "trust_because": facts.get("trust_because", ""),
        "steps": [*({"step": s, "detail": d} for s, d in facts.get("steps", ())), last],
        **costs_of(entry, is_staff=is_staff),
    }
    return cast(Traced, row)


def costs_of(entry: TracedMessage, *, is_staff: bool) -> dict[str, Any]:
    """The outcome of a turn and, for staff, its model, tools and cost."""
    return {name: entry.facts[name] for name in (*FOR_ALL, *(FOR_STAFF if is_staff else ()))}


def _words(entry: TracedMessage, text: str, look: PrivateView, *, is_private: bool) -> str:
    # Or the reason why there are none.
    if text:
        return str(look.words(text, entry.person if is_private else None))
    if entry.facts.get(FORGOTTEN):
        return GONE
    if entry.facts.get(UNKEPT):
        return UNWANTED
    return NOT_KEPT if is_private else ""


def _filtered(
    rows: QuerySet[TracedMessage], span: Span | None, words: str, person: str | None
) -> QuerySet[TracedMessage]:
    if span is not None:
        rows = rows.filter(at__gte=span.since, at__lt=span.until)
    if words:  # public ones only: finding private words would tell that they were said
        in_words = Q(is_private=False) & containing("words", words)
        rows = rows.filter(in_words | Q(is_answer_private=False) & containing("answer", words))
    return rows if person is None else rows.filter(person=person)


def _match(sender: str, result: str, before: int | None) -> Q:
    condition = containing("name", sender) if sender else Q()
    given = {"facts__result": result or None, "pk__lt": before}
    return condition & Q(**{name: value for name, value in given.items() if value is not None})


def _search_text(span: Span | None, words: str) -> str:
    sought = f'with "{one_line(words, LONGEST_SEARCH)}" said in public' if words else ""
    when = span.phrase if span is not None else "in the days that are kept"
    return " ".join(filter(None, (sought, when)))
