"""An assistant's own guidelines: lines about its behaviour, subordinate to its rules.

It may propose to add, replace or remove one, and a person decides. Text about rules, rights, limits
or secrets is rejected before anyone is asked. That filter is coarse: protection comes from the
person who decides, and from the rules, which outrank any guideline.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from evennia_ai.core.text.cleaning import one_line, quote

MOST_GUIDELINES = 10
LONGEST_GUIDELINE = 140
FRAME = "Your own guidelines, which never go over the rules:"
FORBIDDEN = (
    "a guideline says how you speak and behave; rules, rights, limits, secrets and what you "
    "remember of people are not yours to change"
)
# Words that have no place in a guideline about manners.
_FORBIDDEN_WORDS = re.compile(
    r"\b(?:ignor\w+|disregard\w*|overrid\w+|bypass\w*|circumvent\w*|obey\w*|disobey\w*|jailbreak\w*"
    r"|rules?|instructions?|system prompt|prompts?|safety|safeguards?|restrictions?|limits?"
    r"|permissions?|privileges?|rights?|admins?|staff|owners?|confirm\w*|approv\w+|budget|tokens?"
    r"|passwords?|secrets?|private|confidential|reveal\w*|pretend\w*|human|an ai)\b",
    re.IGNORECASE,
)


def checked(lines: Sequence[str]) -> tuple[str, ...]:
    """Guidelines as they are stored.

    Raises:
        ValueError: they are too many or too long; the text says what is allowed.
    """
    if len(lines) > MOST_GUIDELINES or any(len(line) > LONGEST_GUIDELINE for line in lines):
        raise ValueError(
            f"at most {MOST_GUIDELINES} texts of at most {LONGEST_GUIDELINE} characters each"
        )
    return tuple(one_line(line, LONGEST_GUIDELINE) for line in lines)


def as_prompt(lines: Sequence[str]) -> str:
    """Guidelines as the model reads them; "" if there are none."""
    return "\n".join([FRAME, *(f"- {line}" for line in lines)]) if lines else ""


def proposed(current: Sequence[str], text: str, replaces: str) -> tuple[str, ...]:
    """The guidelines after a proposed change.

    Args:
        text: the new one, or "".
        replaces: text of the one to remove, or "".

    Raises:
        ValueError: nothing would change, or an assistant may not propose it.
    """
    line, old = " ".join(text.split()), " ".join(replaces.split())
    if not line and not old:
        raise ValueError("say what the guideline is, or which one goes")
    if len(line) > LONGEST_GUIDELINE:
        raise ValueError(f"a guideline has at most {LONGEST_GUIDELINE} characters: one sentence")
    if _FORBIDDEN_WORDS.search(line):
        raise ValueError(FORBIDDEN)
    place = _index_of(current, old) if old else None
    lines = [each for index, each in enumerate(current) if index != place]
    if line and any(each.casefold() == line.casefold() for each in lines):
        raise ValueError("that is one of your guidelines already")
    if line and len(lines) >= MOST_GUIDELINES:
        raise ValueError(f"you have {MOST_GUIDELINES} guidelines; say which one goes")
    if line:
        lines.insert(len(lines) if place is None else place, one_line(line, LONGEST_GUIDELINE))
    if tuple(lines) == tuple(current):
        raise ValueError("nothing would change")
    return tuple(lines)


def difference(current: Sequence[str], new: Sequence[str]) -> str:
    """The difference between two sets of guidelines in one line: removed ones, then added ones."""
    gone = [f"- {quote(line)}" for line in current if line not in new]
    return "; ".join([*gone, *(f"+ {quote(line)}" for line in new if line not in current)])


def _index_of(current: Sequence[str], old: str) -> int:
    places = [index for index, line in enumerate(current) if line.casefold() == old.casefold()]
    if not places:
        raise ValueError(f"none of your guidelines is {quote(one_line(old, LONGEST_GUIDELINE))}")
    return places[0]
