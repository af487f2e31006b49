"""Dates and times in words, for prompts and for facts that are stored.

A moment is given in seconds since 1970 and told in the game's time zone, which is that of a
datetime passed along. Dates in stored facts stay true however late they are read; only prompts,
which say what today is, use "today" and "yesterday".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial

from evennia_ai.core.text.words import QUOTED, SENTENCE_ENDS, as_matched

# In English, whatever the locale of the server.
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = "January February March April May June July August September October November December"
MONTHS = tuple(_MONTHS.split())
_SPANS = (
    (365 * 86_400.0, "year"),
    (30 * 86_400.0, "month"),
    (7 * 86_400.0, "week"),
    (86_400.0, "day"),
    (3600.0, "hour"),
    (60.0, "minute"),
)


def ago(seconds: float) -> str:
    """Time since an event, in words: "3 days ago"."""
    for length, word in _SPANS:
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {word}{'s' if count > 1 else ''} ago"
    return "just now"


# ---- telling -----------------------------------------------------------------------------------


def moment(seconds: float, now: datetime) -> datetime:
    """A moment in the time zone of `now`.

    Args:
        seconds: since 1970.
        now: with its time zone.
    """
    return datetime.fromtimestamp(seconds, now.tzinfo)


def full(day: date) -> str:
    """A date that is unambiguous in any year: "3 May 2026"."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def full_with_weekday(day: date) -> str:
    """A date with its weekday: "Sunday 3 May 2026"."""
    return f"{WEEKDAYS[day.weekday()]} {full(day)}"


def when(seconds: float, now: datetime) -> str:
    """A moment as told in a prompt that says what today is.

    "today 14:10", "yesterday", "on Sunday 3 May" within a week, "on 3 May" in the same year, else
    "on 3 May 2025".
    """
    then = moment(seconds, now)
    days = (now.date() - then.date()).days
    if days == 0:
        return f"today {then:%H:%M}"
    if days == 1:
        return "yesterday"
    if then.year != now.year:
        return f"on {full(then.date())}"
    name = f"{WEEKDAYS[then.weekday()]} " if abs(days) < 7 else ""
    return f"on {name}{then.day} {MONTHS[then.month - 1]}"


# ---- relative dates made absolute --------------------------------------------------------------

_SEASONS = "spring|summer|autumn|fall|winter|season"
_PARTS = "morning|afternoon|evening|night"
_PREPOSITION = (
    r"(?:\b(?P<before>since|until|till|by|from|before|after|for|as of|on|in|of|during|about)\s+)?"
    r"(?P<words>%s)\b(?!['’]s| of\b)"  # noqa: RUF001
)
_COUNTED = "one two three four five six seven eight nine ten eleven twelve"
_COUNTS = {word: count for count, word in enumerate(_COUNTED.split(), 1)} | {"a": 1, "an": 1}
_NAMES = [name.casefold() for name in WEEKDAYS]
_NUMBER = rf"\d{{1,3}}|{'|'.join(_COUNTS)}"
# "One or two", "2 to 3", "half a", "over two" are not counts that a date can be worked out from,
# and neither is the end of a longer one: "1.5", "2-3", "twenty two".
_AGO = (
    r"(?<!or )(?<!to )(?<!half )(?<!than )(?<!over )(?<!almost )(?<!nearly )"
    rf"(?<!\d[.,/])(?<![-–])(?<![nrfxhe]ty )(?P<count>{_NUMBER})"  # noqa: RUF001
)
# Relative words. Those that no rule resolves get the day on which they were said appended.
_RELATIVE = re.compile(
    rf"\bin (?:{_NUMBER}) (?:day|week|month)s?\b|"
    r"\b(?:to-?day|yesterday|to-?morrow|tonight|ago|recently|lately|soon|the other day|these days"
    r"|from now|before last|fortnight"
    rf"|(?:this|last|next) (?:{_PARTS}|week(?:end)?|month|year|{_SEASONS}|{'|'.join(_NAMES)}))\b",
    re.IGNORECASE,
)
# A text that was settled before; a second note would pile up with each rewording of a memory.
_SAID = re.compile(r"\(said (?:on|between) [^()]*\d\)\.?$")


# The named parts of what a rule matched, in lower case.
_Parts = Mapping[str, str]
_Meaning = Callable[[_Parts, date], str]
_STEPS = {"last": -1, "yesterday": -1, "next": 1, "tomorrow": 1, "to-morrow": 1}


@dataclass(frozen=True, slots=True)
class _Rule:
    """A pattern of relative words and the date they mean, seen from the day they were said.

    Attributes:
        meant: computes the time in words, from the matched parts and the day.
        word: the preposition to use where the text has none.
    """

    pattern: re.Pattern[str]
    meant: _Meaning
    word: str = "on"


def _rule(words: str, meant: _Meaning, word: str = "on") -> _Rule:
    return _Rule(re.compile(r"\b" + _PREPOSITION % words, re.IGNORECASE), meant, word)


def _step(parts: _Parts) -> int:
    return _STEPS.get(parts["which"], 0)


def _week(parts: _Parts, day: date) -> str:
    monday = day - timedelta(days=day.weekday())
    return f"the week of {full(monday + timedelta(weeks=_step(parts)))}"


def _month(day: date, months: int) -> str:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return f"{MONTHS[month]} {year}"


def _weekday(parts: _Parts, day: date) -> str:
    """The nearest such day before, or after, and never the day itself."""
    weekday = _NAMES.index(parts["name"])
    if parts["which"] == "last":
        return full(day - timedelta(days=(day.weekday() - weekday - 1) % 7 + 1))
    return full(day + timedelta(days=(weekday - day.weekday() - 1) % 7 + 1))


def _count(parts: _Parts) -> int:
    return _COUNTS.get(parts["count"]) or int(parts["count"])


def _days_ago(parts: _Parts, day: date) -> str:
    return full(day - timedelta(days=_count(parts) * (7 if parts["unit"] == "week" else 1)))


# Longer phrases come first, or "yesterday" would match within "the day before yesterday".
_RULES = (
    _rule(rf"{_AGO} (?P<unit>day|week)s? ago(?: to-?day)?", _days_ago),
    _rule(rf"{_AGO} months? ago(?: to-?day)?", lambda p, day: _month(day, -_count(p)), "in"),
    _rule(rf"{_AGO} years? ago(?: to-?day)?", lambda p, day: str(day.year - _count(p)), "in"),
    _rule(
        rf"(?P<which>yesterday|to-?day|to-?morrow|this|last) (?P<part>{_PARTS})",
        lambda p, day: f"the {p['part']} of {full(day + timedelta(_step(p)))}",
    ),
    _rule(r"the day before yesterday", lambda _, day: full(day - timedelta(2))),
    _rule(r"the day after to-?morrow", lambda _, day: full(day + timedelta(2))),
    _rule(
        r"(?P<which>yesterday|to-?day|to-?morrow)", lambda p, day: full(day + timedelta(_step(p)))
    ),
    _rule(r"tonight", lambda _, day: f"the night of {full(day)}"),
    _rule(r"(?P<which>this|last|next) week", _week, "in"),
    _rule(r"(?P<which>this|last|next) month", lambda p, day: _month(day, _step(p)), "in"),
    _rule(r"(?P<which>this|last|next) year", lambda p, day: str(day.year + _step(p)), "in"),
    _rule(rf"(?P<which>last|next) (?P<name>{'|'.join(_NAMES)})", _weekday),
)


def is_relative(text: str) -> bool:
    """True if the text has relative words for a time ("yesterday", "soon") outside quotes."""
    return _RELATIVE.search(QUOTED.sub("", text)) is not None


def settled(text: str, days: Sequence[date]) -> str:
    """A text with its relative dates made absolute: "yesterday" becomes "on 2 May 2026".

    Quoted parts are left alone. What cannot be resolved ("recently", or any relative word of a
    text said on several days) is left too, and the days on which it was said are appended.

    Args:
        days: the days on which it was said.
    """
    if not days or not is_relative(text) or _SAID.search(text):
        return text
    first, last = min(days), max(days)
    if first == last:
        text = _outside_quotes(text, lambda part: _resolved(part, first))
    if not is_relative(text):
        return text
    when = f"on {full(first)}" if first == last else f"between {full(first)} and {full(last)}"
    return f"{text} (said {when})"


def _outside_quotes(text: str, change: Callable[[str], str]) -> str:
    pieces, end = [], 0
    for quoted in QUOTED.finditer(text):
        pieces += [change(text[end : quoted.start()]), quoted[0]]
        end = quoted.end()
    return "".join([*pieces, change(text[end:])])


def _resolved(text: str, day: date) -> str:
    for rule in _RULES:
        text = rule.pattern.sub(partial(_replacement, rule, day), text)
    return text


def _is_name(match: re.Match[str]) -> bool:
    """True for a capital within a sentence, as of the boat Tomorrow; not if all are capitals."""
    before, words = match.string[: match.start()].rstrip(), match["words"]
    is_capital = words[:1].isupper() and not words.isupper()
    return is_capital and (match["before"] is not None or before[-1:] not in f"{SENTENCE_ENDS}:;")


def _replacement(rule: _Rule, day: date, match: re.Match[str]) -> str:
    if _is_name(match):
        return match[0]
    before = match["before"] or rule.word
    first = before[:1].upper() if match[0][:1].isupper() else before[:1]
    parts = {name: as_matched(part) for name, part in match.groupdict("").items()}
    return f"{first}{before[1:]} {rule.meant(parts, day)}"
