"""The draft of the creation menu: its choices, a check for stray commands, and the creation."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from django.conf import settings

from evennia_ai import operations
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.typed_objects import Being
from evennia_ai.operations import naming
from evennia_ai.operations.assistants.creation import BODY
from evennia_ai.operations.naming import words_of_the_game
from evennia_ai.operations.result import Result
from evennia_ai.operations.rights import refusal

CALLED = "Whoever whispers to {name}, pages {name}, or says @{name}"
NAME, PLACE, SUMMARY = "name", "place", "summary"


@dataclass
class Draft:
    """The choices so far.

    Attributes:
        typeclass: path of the body's class; "" for the game's own.
        permission: people with it are answered without saying the name; "" for none.
        provider, model: of the assistant; both empty for the game's.
        is_tried: True if the model has passed a test.
        doubted: the last input that was questioned; it is accepted if it is typed again.
        is_made: True if the assistant has been created.
    """

    OWN_CLASS: ClassVar[str] = "the game's own character class"

    name: str = ""
    typeclass: str = ""
    look: str = ""
    persona: str = ""
    room: Any = None
    answers_all: bool = False
    permission: str = ""
    provider: str = ""
    model: str = ""
    model_text: str = "the game's"
    is_testing: bool = False
    is_tried: bool = False
    doubted: str = ""
    is_made: bool = False

    @property
    def has_room(self) -> bool:
        """True if a room was chosen and has not been deleted."""
        return self.room is not None and self.room.pk is not None

    @property
    def body(self) -> str:
        """The class of the body, for display."""
        return self.typeclass or self.OWN_CLASS

    @property
    def listening(self) -> str:
        """The people it answers, for display."""
        called = CALLED.format(name=self.name)
        if self.answers_all:
            return "everybody, whatever is said in the room"
        return f"{called}; {self.permission} without the @" if self.permission else called

    def summary(self) -> str:
        """All choices, one per line."""
        rows = (
            ("name", self.name),
            ("body", self.body),
            ("look", self.look or "as every assistant"),
            ("character", self.persona or "none"),
            ("place", self.room.key if self.has_room else "nowhere yet"),
            ("answers", self.listening),
            ("model", f"{self.model_text}{'' if self.is_tried else ', not tried yet'}"),
        )
        return "\n".join(f"{name:<10} {value}" for name, value in rows)

    def settings(self) -> dict[str, Any]:
        """The settings that differ from the defaults of a new assistant."""
        chosen = {
            "room_messages": "trigger" if self.answers_all else "",
            "trigger_permissions": [self.permission] if self.permission else [],
            "llm_provider": self.provider,
            "llm_model": self.model,
        }
        return {name: value for name, value in chosen.items() if value}


def _next_to(draft: Draft) -> str:
    """The text after the creation, with commands to type next."""
    name = draft.name
    return (
        f"Its body is {draft.body}; it thinks with {draft.model_text}.\n"
        f"Does it think? assistant check {name}   All that can be set: assistant config {name}\n"
        f"Not as you wanted? assistant prompt {name} edit, or assistant delete {name}"
    )


def make(caller: Being, draft: Draft) -> tuple[Result, str]:
    """Create the assistant.

    Returns:
        The result, and the step to repeat after a failure; "" for none.
    """
    # Everything is checked again, because the menu may have been open for hours.
    if refused := refusal("create", caller):
        return refused, ""
    checked = naming.check_name(draft.name)
    if not checked.ok:
        return checked, NAME
    if not draft.has_room:
        return Result.not_found("That room is gone; choose another."), PLACE
    result = operations.create_assistant(
        draft.name,
        location=draft.room,
        desc=draft.look,
        persona=draft.persona,
        settings=draft.settings(),
        by=str(caller.key),
        typeclass=draft.typeclass or BODY,
        maker=caller,
    )
    draft.is_made = result.ok
    if result.ok:
        return replace(result, message=f"{result.message}\n{_next_to(draft)}"), ""
    return result, SUMMARY if result.errors else NAME


# Words by which people may try to leave the menu, beside EvMenu's own quit, q and exit.
LEAVING = frozenset(("abort", "bye", "cancel", "close", "done", "end", "leave", "logout", "stop"))
LONGEST_QUOTED = 40
# A model's name has a number, or a sign between its words: gpt-4.1-mini, llama3.2, org/model.
_MODEL = re.compile(r"[\d./:_-]")
_FIRST = re.compile(r"[^\s=]+")
AGAIN = "If that is your answer, type it again."


def doubt(draft: Draft, typed: str) -> str:
    """The reason why an input is probably no answer, with advice; "" if it is accepted."""
    return _unless_repeated(draft, typed, _problem(typed))


def doubt_model(draft: Draft, typed: str) -> str:
    """Like `doubt`, for the name of a model; words that do not look like one are questioned."""
    word = one_line(typed, LONGEST_QUOTED)
    unlikely = (
        f"'{word}' does not look like a model's name, such as gpt-4.1-mini, or a provider and a "
        f"name, such as: ollama llama3.2. {AGAIN} To keep what is chosen: next"
    )
    is_likely = bool(_MODEL.search(typed))
    return _unless_repeated(draft, typed, _problem(typed) or ("" if is_likely else unlikely))


def _unless_repeated(draft: Draft, typed: str, problem: str) -> str:
    """The problem, or "" if the same input was questioned just before."""
    if not problem or typed == draft.doubted:
        draft.doubted = ""
        return ""
    draft.doubted = typed
    return problem


def _problem(typed: str) -> str:
    match = _FIRST.match(typed)
    if match is None:
        return ""
    word = match[0].lstrip(settings.CMD_IGNORE_PREFIXES).casefold()
    if word in LEAVING and word == typed.casefold():
        return f"To leave this menu, type quit; to go back a step, type back. {AGAIN}"
    if word in words_of_the_game():
        return f"'{word}' is a game command, which does not work here: type quit first. {AGAIN}"
    return ""
