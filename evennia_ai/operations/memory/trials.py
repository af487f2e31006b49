"""Trials of recall: the memories and the lore that a message would bring up.

Nothing is stored, and nothing is charged to the person whose message is tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from twisted.internet.defer import Deferred, succeed

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.memory.lore_terms import LoreCondition
from evennia_ai.core.memory.recollection import is_private
from evennia_ai.core.text.words import counted
from evennia_ai.core.typed_objects import Being
from evennia_ai.errors import ConfigurationError
from evennia_ai.memory import lore, recalling
from evennia_ai.memory.recalling import Weighed
from evennia_ai.memory.seeking import seeker_of
from evennia_ai.memory_store import rows
from evennia_ai.operations.conversation.hearing import turn_of
from evennia_ai.operations.memory.memories import searchable
from evennia_ai.operations.memory.rows import (
    Remembered,
    audience_text,
    cleaned,
    line_of,
    problem_of_text,
    rows_of,
)
from evennia_ai.operations.result import Result, note
from evennia_ai.operations.rights.private_words import PrivateView

FULL = "no room is left: at most four entries are used, within their book's budget"


class TriedMemory(Remembered):
    """A memory that was found, with its scores, each 0 to 1."""

    score: Annotated[float, note("Total score, by which memories are ranked.")]
    meaning: Annotated[float | None, note("Similarity of the meaning; null if unknown.")]
    words: Annotated[float, note("Match of the words.")]
    why_not: Annotated[str, note("Why it would not be told; empty if it would.")]


@dataclass(frozen=True, slots=True)
class RecallTrial:
    """The memories that a text would bring up; those that would be told come first."""

    memories: list[TriedMemory]
    problem: Annotated[str, note("Why the search was not possible, or empty.")]


@dataclass(frozen=True, slots=True)
class TriedLore:
    """An entry of lore that a text is about."""

    number: int
    text: Annotated[str, note("Text as it would be told.")]
    keywords: Annotated[list[str], note("Keywords that the text contains.")]
    is_told: bool
    why: Annotated[str, note("Why it is told, or why not.")]


def try_recall(
    script: AssistantScript,
    text: str,
    being: Being,
    *,
    is_aloud: bool = False,
    look: PrivateView | None = None,
) -> Deferred[Result[RecallTrial]]:
    """Find the memories that a message to an assistant would bring up where it is now.

    Private memories are found only when they are revealed, since a match would give them away.

    Args:
        being: the speaker.
        is_aloud: said openly in the room; else whispered.
        look: the reader, who need not be the speaker.
    """
    words = cleaned(text)
    if problem := problem_of_text(words) or _absence(script):
        return succeed(Result.invalid(f"Nothing is tried: {problem}."))
    look, turn = look or PrivateView(), turn_of(script, being, words, is_aloud=is_aloud)

    def show(outcome: tuple[list[Weighed] | None, str]) -> Result[RecallTrial]:
        hits, problem = outcome
        memory_rows = _rows(script, hits or [], look)
        look.note(script, "memories")
        count = sum(not row["why_not"] for row in memory_rows)
        lines = [
            f"{row['score']:>5.0%} {line_of(row)}" for row in memory_rows if not row["why_not"]
        ]
        head = f"{script.key} would be told {counted(count, 'memories')}."
        if hits is None:
            head = f"{script.key} could not look for anything: {problem}."
        return Result(True, "\n".join([head, *lines]), RecallTrial(memory_rows, problem))

    return recalling.weigh(script, turn).addCallback(show)


def _rows(
    script: AssistantScript, weighed: Sequence[Weighed], look: PrivateView
) -> list[TriedMemory]:
    by_key = {each.memory.key: each for each in weighed}
    by_memory_key = {
        row.key: row for row in searchable(rows.of(script.pk, key__in=list(by_key)), look)
    }
    visible_rows = look.rows(rows_of(by_memory_key[key] for key in by_key if key in by_memory_key))
    return [
        {
            **row,
            "score": by_key[row["key"]].score,
            "meaning": by_key[row["key"]].meaning,
            "words": by_key[row["key"]].words,
            "why_not": by_key[row["key"]].why_not,
        }
        for row in visible_rows
    ]


def try_lore(
    script: AssistantScript, text: str, being: Being, *, is_aloud: bool = True
) -> Result[list[TriedLore]]:
    """Find the lore that a message to an assistant would bring up, and what misses by a condition.

    Only the message is searched for keywords, not the conversation before it.

    Args:
        being: the speaker.
        is_aloud: said openly in the room; else whispered.
    """
    words = cleaned(text)
    if problem := problem_of_text(words) or _absence(script):
        return Result.invalid(f"Nothing is tried: {problem}.")
    turn = turn_of(script, being, words, is_aloud=is_aloud)
    try:
        matches = lore.explain_matches(script, words, seeker_of(script, turn), turn)
    except ConfigurationError as error:
        return Result.invalid(f"Nothing can be tried: {error}.")
    keys = [each.entry.key for each in matches]
    # Shared lore of the game, and the assistant's own from its character card.
    both = (rows.of(owner, key__in=keys) for owner in (rows.SHARED, script.pk))
    numbers = {row.key: row.pk for part in both for row in part}
    entries = [
        TriedLore(numbers.get(each.entry.key, 0), each.text, [*each.said], each.is_told, _why(each))
        for each in matches
        # Private lore of others is not even named.
        if not (each.is_for_others and is_private(each.entry.audience))
    ]
    count = sum(each.is_told for each in entries)
    head = f"{script.key} would be told {counted(count, 'pieces')} of lore."
    lines = [f"{each.number:>6}  {each.text} ({each.why})" for each in entries if each.is_told]
    return Result(True, "\n".join([head, *lines]), entries)


def _why(tried: lore.LoreMatch) -> str:
    if tried.is_told:
        if tried.said:
            return f"matched by {', '.join(tried.said)}"
        is_of_place = tried.entry.audience.startswith("room:")
        return "it belongs to this place" if is_of_place else "it needs no keyword"
    if tried.is_for_others:
        whose = audience_text(tried.entry.audience, tried.entry.place)
        return f"it is not for those who would hear it: {whose}"
    if not tried.is_named:
        return "its secondary keywords do not match"
    return (
        f"unmet condition: {'; '.join(map(_condition_text, tried.unmet))}" if tried.unmet else FULL
    )


def _condition_text(condition: LoreCondition) -> str:
    if condition.quest:
        return f"the quest {condition.quest} is {condition.state}"
    if condition.tag:
        return f"the {condition.of} has the tag {condition.tag}"
    value = "" if condition.value is None else f" {condition.value!r}"
    return f"the {condition.of} has the attribute {condition.attribute}{value}"


def _absence(script: AssistantScript) -> str:
    if script.obj is None:
        return f"{script.key} has no body"
    return "" if script.work is not None else f"{script.key} is not running"
