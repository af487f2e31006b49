"""The text of memories in a prompt: quoted, with known ones and hearsay apart.

Private memories are grouped under a heading, and lines of one speaker under the speaker's name. No
words of a memory are outside quotes, so none can pose as a heading, a date or somebody's words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from evennia_ai.core.memory.excerpts import excerpt, has_to_do
from evennia_ai.core.memory.knowledge import FRAME, exchange_of
from evennia_ai.core.memory.namesakes import CALLED, Labels, as_speaker
from evennia_ai.core.memory.recollection import MemoryKind, Recollection, is_private, split_hearsay
from evennia_ai.core.settings.memory import MemoryConfig
from evennia_ai.core.text import dates
from evennia_ai.core.text.cleaning import name_as_data, place_as_data, quote

LONGEST_WORDS, LONGEST_ANSWER = 400, 80
MOST_TOLD = 4_000
ALONE = "told to you alone by this person; say it to nobody else:"
RUMOURS = "You also heard, and do not know whether it is true"
NO_LABELS: Labels = {}
# In an entry with this verb the text is an event, not speech.
_NO_SPEECH = "caused"
_ANSWER = re.compile(r' [^"]{1,60} answered: "(?:[^"\\]|\\.)*"')
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')


def prompt_text(
    memories: Sequence[Recollection],
    config: MemoryConfig,
    now: datetime,
    *,
    about: str = "",
    most: int = MOST_TOLD,
    labels: Labels = NO_LABELS,
) -> tuple[str, list[Recollection]]:
    """Today's date and a line for each memory, and the memories that it tells; hearsay comes last.

    Args:
        memories: memories to tell, the most important first.
        now: in the game's time zone.
        about: the query: long texts are shortened to what is relevant to it.
        most: maximum length in characters; the last memories are dropped to stay below it.
        labels: what to call those whom memories name otherwise, from `namesakes.named_others`.
    """
    known, heard = split_hearsay(memories, config)
    for count in range(len(known) + len(heard), 0, -1):
        parts = known[:count], heard[: max(0, count - len(known))]
        text = _text(*parts, now, about, labels)
        if len(text) <= most:
            return text, [*parts[0], *parts[1]]
    return "", []


def _text(
    known: Sequence[Recollection],
    heard: Sequence[Recollection],
    now: datetime,
    about: str,
    labels: Labels,
) -> str:
    is_dated = any(memory.kind != MemoryKind.LORE for memory in (*known, *heard))
    lines = [f"Today is {dates.full_with_weekday(now)}."] if is_dated else []
    for memories, heading, alone in (
        (known, "", ALONE.capitalize()),
        (heard, f"{RUMOURS}:", f"{RUMOURS}, {ALONE}"),
    ):
        shared = [memory for memory in memories if not is_private(memory.audience)]
        private = [memory for memory in memories if is_private(memory.audience)]
        lines += _section(heading, shared, now, about, labels)
        lines += _section(alone, private, now, about, labels)
    return "\n".join(lines)


def _section(
    heading: str, memories: Sequence[Recollection], now: datetime, about: str, labels: Labels
) -> Iterator[str]:
    """Lines under a heading, grouped by speaker at the place of the speaker's first line."""
    if not memories:
        return
    if heading:
        yield heading
    by_speaker: dict[tuple[str, str], list[str]] = {}
    for number, memory in enumerate(memories):
        speaker, text = _line(memory, now, about, labels.get(memory.key, ("", "")))
        # Lines without a speaker are not grouped.
        group = (speaker, memory.person) if speaker else ("", str(number))
        by_speaker.setdefault(group, []).append(text)
    for (speaker, _), texts in by_speaker.items():
        if not speaker:
            yield f"- {texts[0]}"
        elif len(texts) == 1:
            yield f"- {speaker} {texts[0]}"
        else:
            yield f"- {speaker}"
            yield from (f"  {text}" for text in texts)


def _line(
    memory: Recollection, now: datetime, about: str, label: tuple[str, str]
) -> tuple[str, str]:
    """Speaker and verb, such as "Mira said", or "" if they are not shown; date and words.

    Args:
        label: a name in it, and what to call that person instead; or "" for both.
    """
    when = "" if memory.kind == MemoryKind.LORE else f"{dates.when(memory.at, now)}: "
    speaker, words, answer = _parse_exchange(memory)
    name, called = label
    is_speaker = bool(name) and speaker.startswith(f"{name} ")
    note = f" (of {called})" if name and not is_speaker else ""
    if not speaker:
        return "", f"{when}{quote(excerpt(memory.text, about, LONGEST_WORDS))}{note}"
    if is_speaker:
        speaker = as_speaker(called) + speaker.removeprefix(name)
    text = f"{when}{quote(excerpt(words, about, LONGEST_WORDS))}"
    # An answer that is irrelevant to the query, unlike the words before it, is mostly courtesy.
    if answer and (has_to_do(answer, about) or not has_to_do(words, about)):
        text += f" You: {quote(excerpt(answer, about, LONGEST_ANSWER))}"
    # For private memories the heading says who spoke.
    return "" if is_private(memory.audience) else speaker, text + note


def _parse_exchange(memory: Recollection) -> tuple[str, str, str]:
    """Speaker with verb, words and answer of a talk's entry; "" for any other text.

    The name is shown outside quotes, so it must be one: a model may write a text of this shape into
    its journal, which is told as plain text if the name is no name or more text follows.
    """
    match = FRAME.match(memory.text) if memory.kind == MemoryKind.JOURNAL else None
    if match is None or match["how"] == _NO_SPEECH:
        return "", "", ""
    place = match["place"]
    is_place = place is None or place_as_data(place) == place or _is_quoted(place)
    if not (_is_name(match["name"]) and is_place):
        return "", "", ""
    exchange = exchange_of(memory.text)
    rest = memory.text.removeprefix(f"{match[0]}{quote(exchange.words)}")
    if len(rest) == len(memory.text) or (rest and not _ANSWER.fullmatch(rest)):
        return "", "", ""
    return match[0].removesuffix(": "), exchange.words, exchange.answer


def _is_name(text: str) -> bool:
    """True if a text is a name in the form of journal entries: plain, or "Somebody called "..."."""
    called = text.removeprefix(CALLED)
    return _is_quoted(called) if called != text else name_as_data(text) == text


def _is_quoted(text: str) -> bool:
    return _QUOTED.fullmatch(text) is not None
