"""Parsing of typed form fields, and formatting of values for pages."""

from __future__ import annotations

import json
import math
import re
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
STALE = (
    "Nothing is changed: {what} was changed by somebody since you opened it. The page shows it as "
    "it is now, and what you typed is still in the form: save again to put that in its place."
)
MOST_WHOLE = 999_999_999
# 1,000 is a thousand in English and one in German, so it is refused; 0,125 and 1,5 can only be
# decimals.
_AMBIGUOUS = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")
# Rows of a list on one page.
AT_ONCE = 50
# Characters. Longer texts are shown one below the other: comparing them takes quadratic time.
MOST_COMPARED = 4_000


@dataclass(frozen=True, slots=True)
class DiffPart:
    """A part of a difference: in both texts ("same"), only the first ("old") or second ("new")."""

    kind: str
    text: str


class FieldError(ValueError):
    """A field has an invalid value; the text says which, and what would be valid."""


def number_in(form: Mapping[str, str], name: str) -> float | None:
    """Parse a number; None if the field is empty. A decimal comma is accepted.

    Raises:
        FieldError: it is not a number, or its comma could separate thousands.
    """
    text = form.get(name, "").strip()
    if not text:
        return None
    if _AMBIGUOUS.fullmatch(text):
        plain, decimal = text.replace(",", ""), text.replace(",", ".")
        raise FieldError(
            f"{name}: {text!r} could be {plain} or {decimal}; write it without a comma"
        )
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise FieldError(f"{name}: {text[:40]!r} is not a number; a number is like 5 or 0.5")
    return number


def whole_number_in(form: Mapping[str, str], name: str) -> int | None:
    """Parse a whole number; None if the field is empty.

    Raises:
        FieldError: it is not a whole number.
    """
    number = number_in(form, name)
    if number is not None and (number != int(number) or abs(number) > MOST_WHOLE):
        raise FieldError(f"{name}: {form[name][:40]!r} is not a whole number; one is like 5")
    return None if number is None else int(number)


def asked_number(visit: Visit, name: str) -> int | None:
    """A whole number in the query string; None if it is missing, or invalid, as the page says."""
    try:
        return whole_number_in(visit.query, name)
    except FieldError as error:
        visit.result = refuse_field(error)
        return None


def offset_in(visit: Visit) -> int:
    """The offset `after` in the query string; 0 if it is missing or invalid."""
    return max(0, asked_number(visit, "after") or 0)


def refuse_field(error: FieldError) -> Result:
    """Make the refusal of an invalid field."""
    return Result.invalid(f"Nothing is done: {error}.")


def require_confirmation(visit: Visit, what: str) -> Result | None:
    """Refuse an action that cannot be undone, unless its checkbox was ticked."""
    if visit.form.get(SURE):
        return None
    return Result.invalid(f"Nothing is done. Tick the box if you are sure: {what}")


def mark_of(*values: object) -> str:
    """A digest of the values that a form shows, by which a change by somebody else is noticed."""
    # Keyed: by a plain digest, a masked private text could be guessed from its mark.
    text = json.dumps(values, ensure_ascii=False, default=str)
    return str(salted_hmac("evennia_ai.web.seen", text).hexdigest()[:16])


def refuse_stale(visit: Visit, mark: str, what: str) -> Result | None:
    """Refuse a form if somebody else has saved the same thing since it was opened.

    Args:
        mark: the mark of the current values; the form has that of the values it showed.
    """
    seen_mark = visit.form.get(SEEN, "")
    return Result.conflict(STALE.format(what=what)) if seen_mark and seen_mark != mark else None


def query_string(**query: object) -> str:
    """Build a query string, without empty values; it begins with `?`."""
    parameters = {name: value for name, value in query.items() if value not in ("", None)}
    return f"?{urlencode(parameters)}" if parameters else "?"


def next_page(count: int, first: int, **query: object) -> str:
    """The query string of a list's next page; "" if there is none."""
    following = first + AT_ONCE
    return query_string(**query, after=following) if count > following else ""


def time_shown(moment: str) -> str:
    """Format an ISO 8601 time in the game's time zone; "" stays ""."""
    return as_shown(datetime.fromisoformat(moment).timestamp()) if moment else ""


def value_shown(value: object) -> str:
    """Format a value of any type for people: text as it is, lists and mappings as JSON."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (str, int, float)):
        return str(value) or "nothing"
    return json.dumps(value, ensure_ascii=False, indent=1, default=str) if value else "nothing"


def compared(old: str, new: str) -> list[DiffPart]:
    """Compare two texts word by word."""
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
    # Each word keeps the blank after it, so that joining the parts gives the text again.
    return [f"{word} " for word in text.split(" ")]
