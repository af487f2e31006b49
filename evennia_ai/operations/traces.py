"""Why an assistant answered as it did, days later: asked of its trace, page by page.

Whoever asks sees what `assistant why` shows of a message that is fresh: staff all of it but the
words that were said in private, anybody else only what was theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from django.db.models import Q, QuerySet
from typing_extensions import TypedDict

from evennia_ai.agent import tracing
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.turn.trace import EVIDENCE, FORGOTTEN, UNKEPT
from evennia_ai.models import TracedMessage
from evennia_ai.operations.days import Span, as_shown, in_the_game, iso
from evennia_ai.operations.result import Problem, Result, note
from evennia_ai.operations.revealing import Look
from evennia_ai.operations.sentences import listed
from evennia_ai.runtime.rights import name_before

AT_ONCE, MOST_AT_ONCE = 20, 100
LONGEST_SEARCH = 100
NOT_KEPT = "(private, words not kept)"
UNWANTED = "(words not kept, as they asked)"
GONE = "(forgotten)"
OFF = "No trace is kept in this game: its setting says 0 days."
FOR_ALL = ("result", "stop", "limits", "seconds", "together")
FOR_STAFF = (
    *("model", "calls", "prompt_tokens", "completion_tokens", "cost_nano", "unpriced_calls"),
    *("tools", "prompt"),
)
_LAST = {"answered": "answered", "silent": "silent by choice", "failed": "failed"}


class Step(TypedDict):
    """What happened to a message."""

    step: str
    detail: str


class HeardRow(TypedDict):
    """A message, and what became of it."""

    number: int
    at: str
    at_seconds: Annotated[float, note("The same, in seconds since 1970.")]
    sender: str
    source: str
    place: str
    text: str
    marks: Annotated[list[str], note("How it was addressed.")]
    known_by: Annotated[str, note("How it is known who spoke.")]
    rule: Annotated[int, note("The number of the rule that decided.")]
    rule_name: str
    outcome: str
    trust: float
    trust_because: str
    steps: list[Step]


class TracedTool(TypedDict):
    """A tool that was called, and how it went."""

    name: str
    success: bool
    error: str


class Traced(HeardRow):
    """A message of the days that are kept, and how it came to its answer."""

    id: Annotated[int, note("Give it as `before` for what is older.")]
    shown_at: Annotated[str, note("When it was, by the game's clock.")]
    game_time: Annotated[str, note("By the game's own calendar, or empty.")]
    kind: str
    sender_id: str
    answer: Annotated[str, note("What was said; of private talk that is not kept, that.")]
    result: Annotated[str, note("`answered`, `silent` or `failed`.")]
    stop: Annotated[str, note("Why the turn ended.")]
    seconds: Annotated[float, note("From hearing to the answer.")]
    together: Annotated[list[int], note("Numbers answered at once.")]
    limits: Annotated[list[str], note("Limits that it came to.")]
    model: Annotated[str, note("`provider/name`.")]
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost_nano: Annotated[int, note("Nano-dollars.")]
    unpriced_calls: Annotated[int, note("Calls whose price nobody set.")]
    tools: list[TracedTool]
    prompt: Annotated[dict[str, str], note("A fingerprint of each part of the prompt.")]


@dataclass(frozen=True, slots=True)
class TracedPage:
    """Messages that an assistant heard in the days that are kept, the newest first."""

    messages: list[Traced]
    next: Annotated[int | None, note("Give it as `before` for what is older.")]


def trace(
    script: AssistantScript,
    *,
    span: Span | None = None,
    words: str = "",
    before: int | None = None,
    limit: int = AT_ONCE,
    person: str | None = None,
    look: Look | None = None,
    asker: Any = None,
) -> Result[TracedPage]:
    """What an assistant heard and how it answered, the newest first, as far as it is kept.

    Args:
        span: only what was heard in that time; None: of all days that are kept.
        words: only what was said or answered publicly with these words in it.
        before: only older ones: the `next` of an earlier answer.
        limit: how many at most, 1 to 100.
        person: only messages of this person ("*#3"), without causes that are for staff.
        look: who looks; None: nobody, who sees no private words but of that person.
        asker: to whom it is told, by the name that they know; None: to code.
    """
    look, now = look or Look(person or ""), script.clock.seconds()
    name, is_staff = name_before(script, asker), person is None
    if not tracing.trace_config().keep_days:
        return Result(False, OFF, TracedPage([], None), Problem.MISSING)
    found = _found(tracing.of(script.pk, now), span, words, person)
    if before is not None:
        found = found.filter(pk__lt=before)
    most = max(1, min(limit, MOST_AT_ONCE))
    kept = list(found.order_by("-pk")[: most + 1])
    entries, is_more = kept[:most], len(kept) > most
    rows = [row_of(entry, now, is_staff=is_staff, look=look) for entry in entries]
    data = TracedPage(rows, entries[-1].pk if is_more else None)
    what = _asked(span, words)
    if not rows:
        return Result(True, f"{name}: I know of nothing {what}.", data)
    lines = [f"{name}: what I heard {what}, the newest first:"]
    lines += [listed(row, now) for row in rows]
    look.note(script, "what was heard")
    return Result(True, "\n".join([*lines, *look.hint()]), data)


def find(
    script: AssistantScript,
    number: int | None = None,
    *,
    at: float | None = None,
    person: str | None = None,
) -> TracedMessage | None:
    """The trace of the newest message, or of the newest of a number; None where there is none.

    Args:
        number: of the message; None: whatever number it has.
        at: when it was heard, where that is known: a crash may have used a number twice.
        person: only of this person.
    """
    found = tracing.of(script.pk, script.clock.seconds())
    if number is not None:
        found = found.filter(number=number)
    if at is not None:
        found = found.filter(at=at)
    if person is not None:
        found = found.filter(person=person)
    return found.order_by("-pk").first()


def exported(script: AssistantScript, person: str, look: Look) -> list[dict[str, object]]:
    """All that the trace keeps of a person, the newest first."""
    now = script.clock.seconds()
    found = tracing.of(script.pk, now).filter(person=person).order_by("-pk")
    return [{**row_of(entry, now, is_staff=False, look=look)} for entry in found.iterator()]


def row_of(entry: TracedMessage, now: float, *, is_staff: bool, look: Look) -> Traced:
    """What may be told of one message, under the names that `explaining.row_of` has, and more.

    Args:
        is_staff: whether causes are told that are for staff.
        look: who looks, to whom private words of others are masked.
    """
    facts = entry.facts
    answer = _words(entry, entry.answer, look, is_private=entry.is_answer_private)
    last = {"step": _LAST.get(facts["result"], facts["result"]), "detail": answer}
    if facts["result"] == "failed":
        last["detail"] = facts["why"] if is_staff else "its thoughts would not settle"
    return {
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


def costs_of(entry: TracedMessage, *, is_staff: bool) -> dict[str, Any]:
    """How it ended, and for staff by which means and for how much."""
    return {name: entry.facts[name] for name in (*FOR_ALL, *(FOR_STAFF if is_staff else ()))}


def _words(entry: TracedMessage, text: str, look: Look, *, is_private: bool) -> str:
    """Words as they may be shown, or why there are none."""
    if text:
        return str(look.words(text, entry.person if is_private else None))
    if entry.facts.get(FORGOTTEN):
        return GONE
    if entry.facts.get(UNKEPT):
        return UNWANTED
    return NOT_KEPT if is_private else ""


def _found(
    rows: QuerySet[TracedMessage], span: Span | None, words: str, person: str | None
) -> QuerySet[TracedMessage]:
    if span is not None:
        rows = rows.filter(at__gte=span.since, at__lt=span.until)
    if words:
        said = Q(is_private=False, words__icontains=words)
        rows = rows.filter(said | Q(is_answer_private=False, answer__icontains=words))
    return rows if person is None else rows.filter(person=person)


def _asked(span: Span | None, words: str) -> str:
    sought = f'with "{one_line(words, LONGEST_SEARCH)}" said publicly' if words else ""
    when = span.told if span is not None else "in the days that are kept"
    return " ".join(filter(None, (sought, when)))
