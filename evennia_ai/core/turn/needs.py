"""Selection of the tools that a step is shown: those always shown, and groups by the message.

Tools that are always shown come first and in a fixed order, so that a provider's prompt cache finds
a common beginning. This decides only what the model sees; what it may call is decided elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from itertools import islice

from evennia_ai.core.text.words import first_few
from evennia_ai.core.turn.toolspec import ToolGroup, ToolSpec

FIND_TOOLS = "find_tools"
# Tools shown of a group without cues, such as an MCP server's: the best matches.
MOST_MATCHED = 6
# Names listed per group; the rest are counted.
MOST_NAMED = 5
# Characters of a message that are searched for cues.
LONGEST_READ = 4000
_WORD = re.compile(r"[^\W_]{4,}")
# Too common to say what is wanted. Not the list of `core.memory.grounding`: short words count for
# nothing here anyway, and words of talk about tools are common.
_COMMON_WORDS = (
    "about also been could does dont each from have here into just know like list make many more "
    "most much must name need only other over please said same should some such tell than thank "
    "thanks that their them then there these they this those tool tools very want well were what "
    "when where which will with would your"
)
_COMMON = frozenset(_COMMON_WORDS.split())

Specs = Mapping[str, ToolSpec]


def _inflections(cue: str) -> str:
    """A pattern for a word in its dictionary form and as it is inflected in a sentence."""
    cue = r"\s+".join(map(re.escape, cue.casefold().split()))
    if cue.endswith("e"):
        return f"{cue[:-1]}(?:e[sdr]?|ing)"
    if cue.endswith("y") and cue[-2:-1] not in "aeiou":
        return f"{cue[:-1]}(?:y|ies|ied|ying)"
    return rf"{cue}(?:\w?(?:ed|ing)|e?s)?"


@lru_cache(maxsize=256)
def _pattern(cues: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(_inflections, cues))})(?!\w)")


@lru_cache(maxsize=256)
def _prefixes(cues: tuple[str, ...]) -> tuple[str, ...]:
    """Prefixes shared by all forms of each cue: a substring search is faster than the pattern."""
    roots = []
    for words in (cue.casefold().split() for cue in cues):
        is_alone = len(words) == 1
        roots.append(words[0][:-1] if is_alone and words[0][-1] in "ey" else words[0])
    return tuple(roots)


def is_called_for(group: ToolGroup, text: str) -> bool:
    """True if a text, in lower case, holds one of a group's cues."""
    for root in _prefixes(group.cues):
        if root in text:
            return _pattern(group.cues).search(text) is not None
    return False


def _significant_words(text: str) -> frozenset[str]:
    """Significant words of a text, without a plural s."""
    words = _WORD.findall(text.casefold())
    return frozenset([word.removesuffix("s") for word in words if word not in _COMMON])


@lru_cache(maxsize=1000)
def _tool_words(name: str, description: str) -> frozenset[str]:
    return _significant_words(f"{name.replace('_', ' ')} {description}")


def matching(specs: Iterable[ToolSpec], text: str, most: int = MOST_MATCHED) -> list[str]:
    """Names of the tools whose name or description shares words with a text, the best first."""
    words = _significant_words(text)
    if not words:
        return []
    scores = {spec.name: len(words & _tool_words(spec.name, spec.description)) for spec in specs}
    best = sorted((name for name in scores if scores[name]), key=lambda name: -scores[name])
    return best[:most]


def needed(
    specs: Specs,
    text: str,
    *,
    most: int,
    called: Collection[str] = (),
    found: Collection[str] = (),
    groups: Collection[str] = (),
) -> dict[str, ToolSpec]:
    """The tools shown in a step: those always shown, then those the message calls for.

    Args:
        text: the message to answer, and what was said right before it.
        most: the most tools of the first kind.
        called: tools that were called lately; the rest of their groups is shown too.
        found: tools that were looked up in this turn, or that answer the message.
        groups: names of groups that something else calls for, such as an object in the room.
    """
    always = {name: spec for name, spec in specs.items() if spec.group is None}
    # In their own order, so that two prompts begin alike and a provider's prompt cache finds them.
    shown = dict(islice(always.items(), most))
    shown |= {name: spec for name, spec in specs.items() if name == FIND_TOOLS}
    text = text[:LONGEST_READ].casefold()
    recent_groups = {spec.group.name for name in called if (spec := specs.get(name)) and spec.group}
    open_groups = recent_groups.union(groups)
    last, is_open, without_cues = None, False, []
    wanted = {*found, *called}
    for name, spec in specs.items():
        if (group := spec.group) is None:
            continue
        if group is not last:  # tools of one group are mostly adjacent, so each is matched once
            last, is_open = group, group.name in open_groups or is_called_for(group, text)
        if not group.cues:
            without_cues.append(spec)
        elif is_open:
            wanted.add(name)
    if without_cues:
        wanted.update(matching(without_cues, text))
    return shown | {name: spec for name, spec in specs.items() if name in wanted}


def group_listing(grouped: Iterable[tuple[str, str]]) -> str:
    """Groups of tools in one line for the model: `hands (get, drop, give); weather (forecast)`.

    Args:
        grouped: pairs of a group's name and a tool's name.
    """
    groups: dict[str, list[str]] = {}
    for group, name in grouped:
        groups.setdefault(group, []).append(name)
    return "; ".join(f"{name} ({first_few(names, MOST_NAMED)})" for name, names in groups.items())
