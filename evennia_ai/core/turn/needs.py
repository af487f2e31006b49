"""The tools that a message calls for: those that are always shown, and groups by its words.

The tools that are always shown come first and in one order, so that a provider's cache finds what
two prompts have in common. All of it is about what a model is shown: what it may call is decided
elsewhere, and is the same.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from itertools import islice

from evennia_ai.core.turn.toolspec import ToolGroup, ToolSpec

FIND_TOOLS = "find_tools"
# Of a group without cues, such as an MCP server's, the best so many are shown.
MOST_MATCHED = 6
MOST_NAMED = 5
LONGEST_READ = 4000
_WORD = re.compile(r"[^\W_]{4,}")
# Too common to say what somebody wants. Not the list of `core.memory.grounding`: here short words
# count for nothing anyway, and words of talk about tools are common.
_COMMON_WORDS = (
    "about also been could does dont each from have here into just know like list make many more "
    "most much must name need only other over please said same should some such tell than thank "
    "thanks that their them then there these they this those tool tools very want well were what "
    "when where which will with would your"
)
_COMMON = frozenset(_COMMON_WORDS.split())

Specs = Mapping[str, ToolSpec]


def _forms(cue: str) -> str:
    """A pattern for a word as it stands in a dictionary and in a sentence."""
    cue = r"\s+".join(map(re.escape, cue.casefold().split()))
    if cue.endswith("e"):
        return f"{cue[:-1]}(?:e[sdr]?|ing)"
    if cue.endswith("y") and cue[-2:-1] not in "aeiou":
        return f"{cue[:-1]}(?:y|ies|ied|ying)"
    return rf"{cue}(?:\w?(?:ed|ing)|e?s)?"


@lru_cache(maxsize=256)
def _pattern(cues: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(_forms, cues))})(?!\w)")


@lru_cache(maxsize=256)
def _roots(cues: tuple[str, ...]) -> tuple[str, ...]:
    """The letters that all forms of each cue begin with, which are sooner looked for."""
    roots = []
    for words in (cue.casefold().split() for cue in cues):
        is_alone = len(words) == 1
        roots.append(words[0][:-1] if is_alone and words[0][-1] in "ey" else words[0])
    return tuple(roots)


def is_called_for(group: ToolGroup, text: str) -> bool:
    """True for a text, in lower case, with one of a group's cues in it."""
    for root in _roots(group.cues):
        if root in text:
            return _pattern(group.cues).search(text) is not None
    return False


def _words(text: str) -> frozenset[str]:
    """The telling words of a text, without the s of a plural."""
    found = _WORD.findall(text.casefold())
    return frozenset([word.removesuffix("s") for word in found if word not in _COMMON])


@lru_cache(maxsize=1000)
def _words_of_tool(name: str, description: str) -> frozenset[str]:
    return _words(f"{name.replace('_', ' ')} {description}")


def matching(specs: Iterable[ToolSpec], text: str, most: int = MOST_MATCHED) -> list[str]:
    """Names of the tools whose own words are in a text, at most so many, the best first."""
    wanted = _words(text)
    if not wanted:
        return []
    scores = {
        spec.name: len(wanted & _words_of_tool(spec.name, spec.description)) for spec in specs
    }
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
    """The tools that a step is shown, those that always are first, each kind in its own order.

    Args:
        specs: the tools on offer.
        text: what is answered, and what was said right before.
        most: how many of the first are shown.
        called: tools that were called lately; what belongs to them is at hand as well.
        found: tools that were looked up in this turn, or that answer the message.
        groups: names of groups that something else calls for, such as a thing that is there.
    """
    always = {name: spec for name, spec in specs.items() if spec.group is None}
    # In their own order, so that two prompts begin alike and a provider's cache finds them.
    shown = dict(islice(always.items(), most))
    shown |= {name: spec for name, spec in specs.items() if name == FIND_TOOLS}
    text = text[:LONGEST_READ].casefold()
    lately = {spec.group.name for name in called if (spec := specs.get(name)) and spec.group}
    near = lately.union(groups)
    last, is_open, loose = None, False, []
    wanted = {*found, *called}
    for name, spec in specs.items():
        if (group := spec.group) is None:
            continue
        if group is not last:  # tools of one group mostly stand together
            last, is_open = group, group.name in near or is_called_for(group, text)
        if not group.cues:
            loose.append(spec)
        elif is_open:
            wanted.add(name)
    if loose:
        wanted.update(matching(loose, text))
    return shown | {name: spec for name, spec in specs.items() if name in wanted}


def told_groups(grouped: Iterable[tuple[str, str]]) -> str:
    """The groups of some tools for the model: `hands (get, drop, give); weather (forecast)`.

    Args:
        grouped: of each tool in a group the group's name and its own.
    """
    groups: dict[str, list[str]] = {}
    for group, name in grouped:
        groups.setdefault(group, []).append(name)
    return "; ".join(f"{name} ({_listed(names)})" for name, names in groups.items())


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
