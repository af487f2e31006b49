"""Days and times in words: as a prompt tells them, and as a fact may keep them.

A moment comes in as seconds since 1970 and is told in the time zone of a datetime beside it, the
game's. What is told of a day stays true however late it is read; only today and yesterday are
told as such, in prompts, which say what today is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial

from evennia_ai.core.text.words import QUOTED

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
    """The length of time since something, in words: "3 days ago"."""
    for length, word in _SPANS:
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {word}{'s' if count > 1 else ''} ago"
    return "just now"


# ---- telling -----------------------------------------------------------------------------------


def moment(seconds: float, now: datetime) -> datetime:
    """A moment in the time zone of another one.

    Args:
        seconds: since 1970.
        now: with its time zone.
    """
    return datetime.fromtimestamp(seconds, now.tzinfo)


def full(day: date) -> str:
    """A day that is clear in any year: "3 May 2026"."""
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def full_with_weekday(day: date) -> str:
    """The same with its day of the week: "Sunday 3 May 2026"."""
    return f"{WEEKDAYS[day.weekday()]} {full(day)}"


def when(seconds: float, now: datetime) -> str:
    """A moment as a prompt tells it that says what today is.

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


# ---- words that are true on one day only -------------------------------------------------------

_PARTS = "morning|afternoon|evening|night"
_BEFORE = (
    r"(?:\b(?P<before>since|until|till|by|from|before|after|for|as of|on|in)\s+)?"
    r"(?P<words>%s)\b(?!['’]s)"  # noqa: RUF001
)
_COUNTED = "one two three four five six seven eight nine ten eleven twelve"
_COUNTS = {word: count for count, word in enumerate(_COUNTED.split(), 1)} | {"a": 1, "an": 1}
_NAMES = [name.casefold() for name in WEEKDAYS]
_NUMBER = rf"\d{{1,3}}|{'|'.join(_COUNTS)}"
# "One or two", "half a", "more than two" are no number.
_AGO = rf"(?<!or )(?<!half )(?<!than )(?P<count>{_NUMBER})"
# Of these, what no rule works out is told with the day on which it was said.
_UNSURE = re.compile(
    rf"\bin (?:{_NUMBER}) (?:day|week|month)s?\b|"
    r"\b(?:to-?day|yesterday|to-?morrow|tonight|ago|recently|lately|soon|the other day|these days"
    rf"|(?:this|last|next) (?:{_PARTS}|week(?:end)?|month|year|{'|'.join(_NAMES)}))\b",
    re.IGNORECASE,
)
_SAID = re.compile(r"\(said (?:on|between) [^()]*\d\)\.?$")


@dataclass(frozen=True, slots=True)
class _Rule:
    """Words for a time, and what they mean on a day.

    Attributes:
        meant: the time, from the words' match and the day they were said.
        word: what stands before it where no other preposition does.
    """

    pattern: re.Pattern[str]
    meant: Callable[[re.Match[str], date], str]
    word: str = "on"


def _rule(words: str, meant: Callable[[re.Match[str], date], str], word: str = "on") -> _Rule:
    return _Rule(re.compile(r"\b" + _BEFORE % words, re.IGNORECASE), meant, word)


def _shifted(days: int) -> Callable[[re.Match[str], date], str]:
    return lambda match, day: full(day + timedelta(days))


def _part(match: re.Match[str], day: date) -> str:
    """Of "yesterday evening" and "this morning"."""
    days = {"yesterday": -1, "last": -1, "tomorrow": 1}.get(match["day"].casefold(), 0)
    return f"the {match['part'].casefold()} of {full(day + timedelta(days))}"


def _tonight(match: re.Match[str], day: date) -> str:
    return f"the night of {full(day)}"


def _week(match: re.Match[str], day: date) -> str:
    weeks = {"last": -1, "next": 1}.get(match["which"].casefold(), 0)
    monday = day - timedelta(days=day.weekday()) + timedelta(weeks=weeks)
    return f"the week of {full(monday)}"


def _month(match: re.Match[str], day: date) -> str:
    return _named_month(day, {"last": -1, "next": 1}.get(match["which"].casefold(), 0))


def _named_month(day: date, months: int) -> str:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return f"{MONTHS[month]} {year}"


def _year(match: re.Match[str], day: date) -> str:
    return str(day.year + {"last": -1, "next": 1}.get(match["which"].casefold(), 0))


def _weekday(match: re.Match[str], day: date) -> str:
    """The nearest such day before, or after, and never the day itself."""
    wanted = _NAMES.index(match["name"].casefold())
    if match["which"].casefold() == "last":
        return full(day - timedelta(days=(day.weekday() - wanted - 1) % 7 + 1))
    return full(day + timedelta(days=(wanted - day.weekday() - 1) % 7 + 1))


def _count(match: re.Match[str]) -> int:
    count = match["count"].casefold()
    return _COUNTS.get(count) or int(count)


def _days_ago(match: re.Match[str], day: date) -> str:
    length = 7 if match["unit"].casefold() == "week" else 1
    return full(day - timedelta(days=length * _count(match)))


def _months_ago(match: re.Match[str], day: date) -> str:
    return _named_month(day, -_count(match))


def _years_ago(match: re.Match[str], day: date) -> str:
    return str(day.year - _count(match))


# The longer words come first.
_RULES = (
    _rule(rf"(?P<day>yesterday|to-?day|to-?morrow|this|last) (?P<part>{_PARTS})", _part),
    _rule(r"the day before yesterday", _shifted(-2)),
    _rule(r"the day after to-?morrow", _shifted(2)),
    _rule(r"yesterday", _shifted(-1)),
    _rule(r"to-?day", _shifted(0)),
    _rule(r"to-?morrow", _shifted(1)),
    _rule(r"tonight", _tonight),
    _rule(rf"{_AGO} (?P<unit>day|week)s? ago", _days_ago),
    _rule(rf"{_AGO} months? ago", _months_ago, "in"),
    _rule(rf"{_AGO} years? ago", _years_ago, "in"),
    _rule(r"(?P<which>this|last|next) week", _week, "in"),
    _rule(r"(?P<which>this|last|next) month", _month, "in"),
    _rule(r"(?P<which>this|last|next) year", _year, "in"),
    _rule(rf"(?P<which>last|next) (?P<name>{'|'.join(_NAMES)})", _weekday),
)


def is_relative(text: str) -> bool:
    """Tell whether a text has words for a time that are true on one day only, outside quotes."""
    return _UNSURE.search(QUOTED.sub("", text)) is not None


def settled(text: str, days: Sequence[date]) -> str:
    """A text with the dates that its words for times mean: "yesterday" is "on 2 May 2026".

    What stands in quotes stays as it is. What cannot be worked out, such as "recently", or anything
    where the text was said on several days, gets the days on which it was said behind it.

    Args:
        days: when it was said.
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
        text = rule.pattern.sub(partial(_put, rule, day), text)
    return text


def _put(rule: _Rule, day: date, match: re.Match[str]) -> str:
    before = match["before"] or rule.word
    first = before[:1].upper() if match[0][:1].isupper() else before[:1]
    return f"{first}{before[1:]} {rule.meant(match, day)}"
