"""Lines typed in the menu that makes an assistant, and perhaps not meant as answers.

A clumsy line costs nothing: it is asked about, and typed once more it is taken as it stands.
"""

from __future__ import annotations

import re

from django.conf import settings

from evennia_ai.commands.creation_draft import Draft
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.operations.naming import words_of_the_game

# What people type who want to be out of it; Evennia's menus know quit, q and exit.
LEAVING = frozenset(("abort", "bye", "cancel", "close", "done", "end", "leave", "logout", "stop"))
LONGEST_QUOTED = 40
# A model's name has a number, or a sign between its words: gpt-4.1-mini, llama3.2, org/model.
_MODEL = re.compile(r"[\d./:_-]")
_FIRST = re.compile(r"[^\s=]+")
AGAIN = "If it is your answer, type it once more."


def doubt(draft: Draft, typed: str) -> str:
    """The reason why a line may not be meant as an answer, with what to do; "" where it is one."""
    return _once(draft, typed, _problem(typed))


def doubt_model(draft: Draft, typed: str) -> str:
    """The same of a model of the game's provider: a word that looks like none is asked about."""
    word = one_line(typed, LONGEST_QUOTED)
    unlikely = (
        f"'{word}' looks like no model's name, such as gpt-4.1-mini, or a provider and a name, as "
        f"in: ollama llama3.2. {AGAIN} To keep what is chosen: next"
    )
    is_likely = bool(_MODEL.search(typed))
    return _once(draft, typed, _problem(typed) or ("" if is_likely else unlikely))


def _once(draft: Draft, typed: str, problem: str) -> str:
    """A problem that was not told of this line just now."""
    is_meant = typed == draft.doubted
    draft.doubted = "" if is_meant or not problem else typed
    return draft.doubted and problem


def _problem(typed: str) -> str:
    found = _FIRST.match(typed)
    if found is None:
        return ""
    word = found[0].lstrip(settings.CMD_IGNORE_PREFIXES).casefold()
    if word in LEAVING and word == typed.casefold():
        return f"To leave this menu type quit; to go a step back, back. {AGAIN}"
    if word in words_of_the_game():
        return f"'{word}' is a command of the game, and is not done here: type quit first. {AGAIN}"
    return ""
