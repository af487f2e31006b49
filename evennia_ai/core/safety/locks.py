"""Evennia lock expressions such as `perm(Admin) or pid(12)`."""

from __future__ import annotations

import re
from collections.abc import Sequence

ADMIN = "perm(Admin)"
_TOKEN = re.compile(r"\w+\([^)]*\)|\b(?:and|or|not|AND|OR|NOT)\b")
_PERMISSION = re.compile(r"perm\(\s*(\w+?)s?\s*\)", re.IGNORECASE)
_PASSED_BY_ALL = ("all()", "true()")


def rest_of(lock: str) -> str:
    """The expression of a lock, without the access type in front."""
    return lock.partition(":")[2].strip()


def narrowed(expression: str, hierarchy: Sequence[str]) -> str:
    """An expression passed only by admins who pass the given one.

    Evennia ignores brackets around terms, so the result has none.

    Args:
        hierarchy: the game's permissions, the lowest first.
    """
    names = [name.casefold() for name in hierarchy]
    ranks = {name: rank for rank, name in enumerate(names)} if "admin" in names else {}
    terms = [_require_admin(term, ranks) for term in _terms(expression)]
    return ADMIN if not terms or [] in terms else " or ".join(map(" ".join, terms))


def _terms(expression: str) -> list[list[str]]:
    terms: list[list[str]] = [[]]
    for token in _TOKEN.findall(expression):
        if token.casefold() == "or":
            terms.append([])
        else:
            terms[-1].append(token if "(" in token else token.casefold())
    return [term for term in terms if term]


def _require_admin(term: Sequence[str], ranks: dict[str, int]) -> list[str]:
    """A conjunction that also requires an admin; empty if that is all it would require."""
    first = term[0].casefold()
    # all(), or a permission up to Admin, lets every admin pass: the rest of the term is redundant.
    is_up_to_admin = 0 <= _rank(first, ranks) <= ranks.get("admin", -1)
    if len(term) == 1 and (first in _PASSED_BY_ALL or is_up_to_admin):
        return []
    is_there = any(
        # "not perm(Admin)" does not require an admin.
        _rank(word, ranks) >= ranks.get("admin", 0) and (place == 0 or term[place - 1] != "not")
        for place, word in enumerate(term)
    )
    return [*term] if is_there else [*term, "and", ADMIN]


def _rank(word: str, ranks: dict[str, int]) -> int:
    """The rank of the permission that a lock function requires; -1 if it requires none."""
    match = _PERMISSION.fullmatch(word)
    return ranks.get(match[1].casefold(), -1) if match else -1
