"""Memories that name somebody else than who has the name now; former names of a person.

Memories hold names only in their texts; the id of who said something is beside them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from evennia_ai.core.memory.knowledge import FRAME
from evennia_ai.core.memory.recollection import MemoryKind, Recollection, Seeker
from evennia_ai.core.text.characters import as_word
from evennia_ai.core.text.cleaning import name_as_data

# By a memory's key: the name in it, and what to call that person instead.
Labels = dict[str, tuple[str, str]]
CALLED = "Somebody called "
_FORMER = re.compile(r"was called (?P<name>.+) until \d{1,2} \S+ \d{4}", re.DOTALL)


def speaker_in(memory: Recollection) -> str:
    """The name in front of a journal entry, "" for any other memory."""
    frame = FRAME.match(memory.text) if memory.kind == MemoryKind.JOURNAL else None
    return frame["name"] if frame is not None else ""


def named_others(
    memories: Sequence[Recollection],
    seeker: Seeker | None = None,
    bearers: Mapping[str, str] = MappingProxyType({}),
    namesakes: Collection[str] = (),
) -> Labels:
    """Labels for those whom memories name otherwise than they are called now, by key.

    A name is its last speaker's. What was said before the seeker had a name names somebody else.
    A seeker who alone hears the answer may read of an earlier name of theirs.

    Args:
        bearers: ids of those who had names last in the conversation, by name.
        namesakes: ids of others who have or had the seeker's name, and mean themselves by it.
    """
    speakers = {memory.key: speaker_in(memory) for memory in memories}
    last = {
        name: memory.person
        for memory in sorted(memories, key=lambda memory: memory.at)
        if memory.person and (name := speakers[memory.key])
    }
    last |= {_in_front(name): person for name, person in bearers.items()}
    now = _in_front(seeker.name) if seeker is not None and seeker.person and seeker.name else ""
    if seeker is not None and now:
        last[now] = seeker.person
    alone = seeker.person if seeker is not None and now and seeker.is_private else None
    labels: Labels = {}
    for memory in memories:
        name = speakers[memory.key]
        if seeker is not None and now and _is_of_another(memory, seeker, name, namesakes):
            labels[memory.key] = now, another(now)
        if not (name and memory.person):
            continue
        if alone == memory.person and name != now:
            labels[memory.key] = name, f"{now}, then called {name.removeprefix(CALLED)},"
        elif last[name] != memory.person:
            labels[memory.key] = name, another(name)
    return labels


def _in_front(name: str) -> str:
    """A name as it is in front of an entry."""
    shown = name_as_data(name)
    return shown[:1].upper() + shown[1:]


def _is_of_another(
    memory: Recollection, seeker: Seeker, speaker: str, namesakes: Collection[str]
) -> bool:
    """True for a memory that names the seeker before the name was theirs, or a namesake."""
    is_of_namesake = not speaker and memory.person in namesakes
    if memory.kind == MemoryKind.LORE or (memory.at >= seeker.name_since and not is_of_namesake):
        return False
    if memory.person == seeker.person or seeker.name not in memory.text:
        return False
    text = memory.text.removeprefix(speaker)
    return re.search(as_word(seeker.name), text) is not None


def another(name: str) -> str:
    """Somebody else of a name, in words."""
    return f"another person called {name.removeprefix(CALLED)}"


def as_speaker(label: str) -> str:
    """A label at the beginning of a line."""
    return label[:1].upper() + label[1:]


def told_apart(memory: Recollection, labels: Labels) -> str:
    """The text of a memory, which says if it names another person."""
    if memory.key not in labels:
        return memory.text
    name, label = labels[memory.key]
    if speaker_in(memory) == name:
        return as_speaker(label) + memory.text.removeprefix(name)
    return f"{memory.text} (of {label})"


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
