"""Memories that name somebody else than who has the name now; former names of a person.

Memories hold names only in their texts; the id of who said something is beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from evennia_ai.core.memory.knowledge import FRAME
from evennia_ai.core.memory.recollection import MemoryKind, Recollection, Seeker
from evennia_ai.core.text.cleaning import name_as_data

CALLED = "Somebody called "
_FORMER = re.compile(r"was called (?P<name>.+) until \d{1,2} \S+ \d{4}", re.DOTALL)


def speaker_in(memory: Recollection) -> str:
    """The name in front of a journal entry, "" for any other memory."""
    frame = FRAME.match(memory.text) if memory.kind == MemoryKind.JOURNAL else None
    return frame["name"] if frame is not None else ""


def named_others(memories: Sequence[Recollection], seeker: Seeker | None = None) -> dict[str, str]:
    """Names of memories that are another person's now, by the memory's key.

    A name is its last speaker's. What was said before the seeker had a name names somebody else.
    """
    speakers = {memory.key: speaker_in(memory) for memory in memories}
    last = {
        name: memory.person
        for memory in sorted(memories, key=lambda memory: memory.at)
        if memory.person and (name := speakers[memory.key])
    }
    now = ""
    if seeker is not None and seeker.person and seeker.name:
        shown = name_as_data(seeker.name)
        now = shown[:1].upper() + shown[1:]
        last[now] = seeker.person
    others = {
        memory.key: name
        for memory in memories
        if memory.person and (name := speakers[memory.key]) and last[name] != memory.person
    }
    if seeker is not None and now and seeker.name_since:
        others |= {m.key: now for m in memories if _is_of_earlier(m, seeker, speakers[m.key])}
    return others


def _is_of_earlier(memory: Recollection, seeker: Seeker, speaker: str) -> bool:
    """True for a memory that mentions the seeker's name before it was theirs."""
    if memory.at >= seeker.name_since or memory.kind == MemoryKind.LORE:
        return False
    if memory.person == seeker.person or seeker.name not in memory.text:
        return False
    text = memory.text.removeprefix(speaker)
    return re.search(rf"(?<!\w){re.escape(seeker.name)}(?!\w)", text) is not None


def another(name: str) -> str:
    """Somebody else of a name, in words."""
    return f"another person called {name.removeprefix(CALLED)}"


def told_apart(memory: Recollection, others: Mapping[str, str]) -> str:
    """The text of a memory, which says if it names another person.

    Args:
        others: as returned by `named_others`.
    """
    name = others.get(memory.key)
    if name is None:
        return memory.text
    if speaker_in(memory) == name:
        words = memory.text.removeprefix(name)
        return f"A{another(name)[1:]}{words}"
    return f"{memory.text} (of {another(name)})"


# ---- former names ------------------------------------------------------------------------------


def former_name(name: str, date: str) -> str:
    """A point of a profile: a name that a person had until a date."""
    return f"was called {name} until {date}"


def with_former_names(seeker: Seeker, points: Iterable[tuple[str, float]]) -> Seeker:
    """A seeker who had another name at some time, and so not yet the present one.

    Args:
        points: of the person's profile, with the time of each.
    """
    former = [(at, names) for text, at in points if (names := former_names([text]))]
    if not former or any(seeker.name in names for _, names in former):
        return seeker
    since = max(at for at, _ in former)
    return replace(seeker, name_since=max(since, seeker.name_since))


def may_name_another(seeker: Seeker, memories: Iterable[Recollection]) -> bool:
    """True if a memory of somebody else mentions the seeker's name."""
    name, person = seeker.name, seeker.person
    return bool(name and person) and any(
        name in memory.text and memory.person != person for memory in memories
    )


def is_former_name(text: str) -> bool:
    """True for a point of a profile that tells a former name."""
    return _FORMER.fullmatch(text) is not None


def former_names(texts: Iterable[str]) -> set[str]:
    """The former names in the points of a profile."""
    return {match["name"] for match in map(_FORMER.fullmatch, texts) if match is not None}
