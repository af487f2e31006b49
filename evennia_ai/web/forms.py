"""Fields of a form as they were typed, read strictly, and values as a page shows them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from difflib import SequenceMatcher
from urllib.parse import urlencode

from django.utils.crypto import salted_hmac

from evennia_ai.operations import Result
from evennia_ai.operations.times import as_shown
from evennia_ai.web.rows import Visit

SURE, SEEN = "sure", "seen"
OVERTAKEN = (
    "Nothing is changed: {what} was changed by somebody since you opened it. The page shows it as "
    "it is now, and what you typed is still in the form: save again to put that in its place."
)
MOST_WHOLE = 999_999_999
# So many rows of a longer list stand on a page.
AT_ONCE = 50
# Longer texts are shown whole beside each other, for what they have in common takes too long.
MOST_COMPARED = 4_000


@dataclass(frozen=True, slots=True)
class DiffPart:
    """A part of two texts: in both ("same"), only in the first ("old"), only in the second."""

    kind: str
    text: str


class FieldError(ValueError):
    """A field that was typed wrongly; the text says which, and what would be right."""


def number_in(form: Mapping[str, str], name: str) -> float | None:
    """A number that was typed; None where the field is empty.

    Raises:
        FieldError: it is none.
    """
    text = form.get(name, "").strip().replace(",", ".")
    if not text:
        return None
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise FieldError(f"{name}: {text[:40]!r} is not a number; a number is like 5 or 0.5")
    return found


def whole_in(form: Mapping[str, str], name: str) -> int | None:
    """The same of a whole number.

    Raises:
        FieldError: it is none.
    """
    found = number_in(form, name)
    if found is not None and (found != int(found) or abs(found) > MOST_WHOLE):
        raise FieldError(f"{name}: {form[name][:40]!r} is not a whole number; one is like 5")
    return None if found is None else int(found)


def after_in(visit: Visit) -> int:
    """The number of rows that are left out, as `after` in the address says; what is none is 0."""
    try:
        return max(0, whole_in(visit.query, "after") or 0)
    except FieldError as error:
        visit.said = wrong(error)
        return 0


def wrong(error: FieldError) -> Result:
    """The refusal of a field, with what would be right."""
    return Result.invalid(f"Nothing is done: {error}.")


def unsure(visit: Visit, what: str) -> Result | None:
    """The refusal of what cannot be taken back where nobody said that he is sure; else None."""
    if visit.form.get(SURE):
        return None
    return Result.invalid(f"Nothing is done. Tick the box if you are sure: {what}")


def mark_of(*values: object) -> str:
    """The mark of values as a form shows them; from it no private words can be guessed."""
    told = json.dumps(values, ensure_ascii=False, default=str)
    return str(salted_hmac("evennia_ai.web.seen", told).hexdigest()[:16])


def overtaken(visit: Visit, mark: str, what: str) -> Result | None:
    """The refusal of a form that was opened before somebody else saved it; None of any other.

    Args:
        mark: of what it is now; the form has that of what it was.
    """
    seen = visit.form.get(SEEN, "")
    return Result.conflict(OVERTAKEN.format(what=what)) if seen and seen != mark else None


def address_with(**query: object) -> str:
    """The end of an address for such a query; empty values are left out."""
    given = {name: value for name, value in query.items() if value not in ("", None)}
    return f"?{urlencode(given)}" if given else "?"


def more_than(count: int, first: int, **query: object) -> str:
    """The end of an address for the next rows of a list; "" where there are no more."""
    following = first + AT_ONCE
    return address_with(**query, after=following) if count > following else ""


def time_shown(moment: str) -> str:
    """A moment in ISO 8601 by the game's clock; "" of none."""
    return as_shown(datetime.fromisoformat(moment).timestamp()) if moment else ""


def value_shown(value: object) -> str:
    """A value of any kind in words; text as it is, what has parts as JSON."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (str, int, float)):
        return str(value) or "nothing"
    return json.dumps(value, ensure_ascii=False, indent=1, default=str) if value else "nothing"


def compared(old: str, new: str) -> list[DiffPart]:
    """Two texts as parts of one, word by word."""
    if len(old) + len(new) > MOST_COMPARED:
        return [DiffPart("old", old), DiffPart("new", new)]
    return list(_parts(_words(old), _words(new)))


def _parts(old: list[str], new: list[str]) -> Iterator[DiffPart]:
    for _, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        before, after = "".join(old[a:b]), "".join(new[c:d])
        if before == after:
            yield DiffPart("same", before)
            continue
        if before:
            yield DiffPart("old", before)
        if after:
            yield DiffPart("new", after)


def _words(text: str) -> list[str]:
    """The words of a text, each with the blank after it."""
    return [f"{word} " for word in text.split(" ")]
