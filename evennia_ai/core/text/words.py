"""Words and quotes in a text, numbers and pronouns of people, enums that explain themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, Self

# A word, apostrophe included: "don't", "Ada's".
WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?")
# Marks that end a sentence, for a class of characters in a pattern: those of Chinese and Japanese,
# which need no blank after them, and all, with those of Latin, Arabic, Urdu and Hindi.
UNSPACED_ENDS = "\u3002\uff01\uff1f"
SENTENCE_ENDS = f".!?\u2026\u061f\u06d4\u0964{UNSPACED_ENDS}"
QUESTION_MARKS = "?\u061f\uff1f"
# A quotation; an opening mark that is never closed quotes nothing.
QUOTED = re.compile(r'"[^"]*"|“[^“”]*”|«[^«»]*»')
# The letters that `re.IGNORECASE` takes for ASCII ones; a Turkish keyboard writes the first two.
_TAKEN_FOR_ASCII = str.maketrans("\u0130\u0131\u017f\u212a", "iisk")


def as_matched(text: str) -> str:
    """A text in the lower-case letters that a pattern regardless of case took it for."""
    return text.translate(_TAKEN_FOR_ASCII).lower()


class ExplainedEnum(StrEnum):
    """An enum whose members have a text for people besides the value for programs.

    A member is written as its value and its text: `LOOP = "loop", "one task took too many steps"`.
    """

    _value_: str
    text: str

    def __new__(cls, value: str, text: str = "") -> Self:
        """Create a member; lookup needs only its value."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.text = text
        return member


def number(value: float) -> str:
    """An amount as people write it, to a millionth: 1,200 or 0.35 or 0.0025."""
    value = round(value, 6)
    if float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:,.2f}" if value == round(value, 2) else f"{value:,.6f}".rstrip("0")


def money(dollars: float) -> str:
    """US dollars, wherever people read them: $1,234.50 or $0.06 or $0.0042 or <$0.0001.

    A model call often costs less than a cent.
    """
    if 0 < dollars < 0.0001:
        return "<$0.0001"
    if dollars >= 1:
        return f"${dollars:,.2f}"
    text = f"${dollars:.4f}"
    return text[:-2] if text.endswith("00") else text


def counted(value: float, unit: str) -> str:
    """An amount with its unit, which is given in the plural: 1 step, 5 steps, 1 memory."""
    if value == 1:
        unit = f"{unit[:-3]}y" if unit.endswith("ies") else unit.removesuffix("s")
    return f"{number(value)} {unit}"


def first_few(names: Sequence[str], most: int, separator: str = ", ") -> str:
    """The first of several names, and how many more there are: Ada, Bram and 3 more."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return separator.join(names[:most]) + more


class Pronouns(StrEnum):
    """The pronouns setting: one of four, or AUTO for those of the body's gender."""

    AUTO = "auto"
    IT = "it"
    SHE = "she"
    HE = "he"
    THEY = "they"


class Wording(NamedTuple):
    """Forms of one pronoun. No subject form, so that no verb must agree: texts use the name.

    Attributes:
        them: as in "whisper to her".
        their: as in "her tools".
        themself: as in "by herself".
    """

    them: str
    their: str
    themself: str

    def fill(self, text: str) -> str:
        """Fill in {them}, {their}, {Their} and {themself} of a text."""
        for name, form in zip(self._fields, self, strict=True):
            text = text.replace(f"{{{name}}}", form)
            text = text.replace(f"{{{name.capitalize()}}}", form.capitalize())
        return text


FORMS: Mapping[Pronouns, Wording] = MappingProxyType(
    {
        Pronouns.IT: Wording("it", "its", "itself"),
        Pronouns.SHE: Wording("her", "her", "herself"),
        Pronouns.HE: Wording("him", "his", "himself"),
        Pronouns.THEY: Wording("them", "their", "themselves"),
    }
)
# Values of a body's gender: those of Evennia's contrib `gendersub`, and words other games use.
_BY_GENDER: Mapping[str, Pronouns] = MappingProxyType(
    {
        **dict.fromkeys(("female", "woman", "f", "she"), Pronouns.SHE),
        **dict.fromkeys(("male", "man", "m", "he"), Pronouns.HE),
        **dict.fromkeys(("ambiguous", "nonbinary", "non-binary", "they", "plural"), Pronouns.THEY),
        **dict.fromkeys(("neutral", "neuter", "it"), Pronouns.IT),
    }
)


def pronoun_sentence(pronouns: Pronouns) -> str:
    """The sentence that tells a model its pronouns; none for `it`, which costs no token."""
    return "" if pronouns is Pronouns.IT else f'Others call you "{pronouns}".'


_BY_WISH = {str(each): each for each in Pronouns if each is not Pronouns.AUTO}


def pronouns_of(wish: object, gender: object = None) -> Pronouns:
    """Pronouns of an assistant: as set, else by the body's gender, else `it`.

    Args:
        wish: the setting; anything but one of its words counts as not set.
        gender: the gender that the game stores on the body; may be of any type.
    """
    if isinstance(wish, str) and wish in _BY_WISH:
        return _BY_WISH[wish]
    known = gender.strip().casefold() if isinstance(gender, str) else ""
    return _BY_GENDER.get(known, Pronouns.IT)
