"""Pronouns of one assistant: by its setting, or by what its game stores of its body."""

from __future__ import annotations

from evennia_ai.core.settings.game import ATTRIBUTES
from evennia_ai.core.text.pronouns import FORMS, Pronouns, Wording, pronouns_of
from evennia_ai.runtime.assistant import Assistant

PRONOUNS = "pronouns"
GENDER = "gender"  # of Evennia's contrib `gendersub`


def pronouns(script: Assistant) -> Pronouns:
    """The pronouns that people read of an assistant."""
    wish = script.attributes.get(PRONOUNS, default=ATTRIBUTES[PRONOUNS].default)
    body = script.obj
    gender = body.attributes.get(GENDER) if body is not None else None
    return pronouns_of(wish, gender)


def wording(script: Assistant) -> Wording:
    """The forms of these, for texts."""
    return FORMS[pronouns(script)]
