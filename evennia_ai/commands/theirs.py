"""Commands of the game's own that do a little more where assistants are about.

Each is a class on top of the game's, so that its aliases, locks, help and doings stay.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

from django.conf import settings
from evennia.commands.command import Command
from evennia.utils import logger
from evennia.utils.utils import class_from_module

from evennia_ai.core.typed_objects import GameObject
from evennia_ai.errors import NameTakenError
from evennia_ai.messages.lines import literal
from evennia_ai.operations import find_assistant
from evennia_ai.operations.naming import is_called, name_of

STOCK = "evennia.commands."
SPEECH = ("say", "whisper", "pose")
# Commands that pass along who speaks and how: Evennia's, its contribs', and ours on top of them.
KNOWN_SPEECH = ("evennia.", "evennia_ai.")
# While the game's commands are looked at, ours stay out of its command set.
_is_looking: ContextVar[bool] = ContextVar("is_looking", default=False)


class PrefersAssistant:
    """A `whisper` that reaches the assistant where somebody else is called the same."""

    caller: Any

    def func(self) -> Any:
        """Whisper to the assistant and say how to reach the others; else do as ever."""
        message = getattr(self, "rhs", None)
        names = [name.strip() for name in (getattr(self, "lhs", None) or "").split(",")]
        meant = {name: body for name in names if (body := self._assistant(name)) is not None}
        if not message or not meant:
            return super().func()  # type: ignore[misc]
        found = [meant.get(name) or self.caller.search(name) for name in dict.fromkeys(names)]
        receivers = [being for being in found if being]
        speech = self.caller.at_pre_say(message, whisper=True, receivers=receivers)
        to_self = None if self.caller in receivers else True
        self.caller.at_say(speech, msg_self=to_self, receivers=receivers, whisper=True)
        for name, body in meant.items():
            self._tell_of_others(name, body)
        return None

    def _assistant(self, name: str) -> Any:
        """The one assistant here of that name, where others have it too; else None."""
        place = self.caller.location
        around = [*place.contents, *self.caller.contents] if place is not None else []
        called = [being for being in around if is_called(being, name, self.caller)]
        bodies = [being for being in called if getattr(being, "assistant_script", None)]
        is_needed = len(bodies) == 1 < len(called)
        return bodies[0] if is_needed and bodies[0].access(self.caller, "search", True) else None

    def _tell_of_others(self, name: str, body: GameObject) -> None:
        """Say how to whisper to the others of that name."""
        found = self.caller.search(name, quiet=True)
        ways = [
            settings.SEARCH_MULTIMATCH_TEMPLATE.format(
                name=literal(name), number=number, aliases="", info=""
            ).strip()
            for number, being in enumerate(found, 1)
            if being not in (body, self.caller)
        ]
        if ways:
            shown = literal(name_of(body, self.caller))
            line = f"That went to {shown}, the assistant. Others are called so too; "
            self.caller.msg(f"{line}for them type: whisper {' or '.join(ways)} = <message>")


class TellsOfNames:
    """A command that gives names, and says why one is refused."""

    msg: Any

    def func(self) -> Any:
        """Do as ever."""
        try:
            return super().func()  # type: ignore[misc]
        except NameTakenError as error:
            self.msg(literal(str(error)))
            return None


class LeavesAssistants:
    """A `scripts` that ends no assistant, since it asks no right and records nothing."""

    ENDS = frozenset(("stop", "pause", "delete"))
    caller: Any
    msg: Any
    switches: Any

    def func(self) -> Any:
        """Say what to type for an assistant; do as ever with other scripts."""
        named = self._assistants() if self.ENDS.intersection(self.switches) else []
        if not named:
            return super().func()  # type: ignore[misc]
        names = literal(", ".join(named))
        tail = "which asks the locks of the body and is recorded."
        self.msg(f"Nothing is done: {names} is an assistant. Type: assistant stop | delete, {tail}")
        return None

    def _assistants(self) -> list[str]:
        """The names of those that the line would reach."""
        found: Any = ()
        if getattr(self, "typeclass_query", None):
            found = self._search_script() or ()  # type: ignore[attr-defined]
        if not found and (wanted := getattr(self, "obj_query", None)):
            for being in self.caller.search(wanted, quiet=True)[:1]:
                found = being.scripts.all()
        return [key for each in found if find_assistant(key := str(each.key)) is each]


ADDED = {
    "whisper": PrefersAssistant,
    "@name": TellsOfNames,
    "@alias": TellsOfNames,
    "@scripts": LeavesAssistants,
}


def is_looking() -> bool:
    """True where the game's command sets are only made to be looked at."""
    return _is_looking.get()


def paths() -> tuple[str, ...]:
    """The game's sets of commands, that of characters first."""
    return settings.CMDSET_CHARACTER, settings.CMDSET_ACCOUNT, settings.CMDSET_SESSION


def all_commands() -> tuple[Command, ...]:
    """All commands of the game, without ours."""
    return tuple(command for path in paths() for command in _commands_in(path))


def commands() -> tuple[type, ...]:
    """The game's commands with what is added to them; those that it has not are left out."""
    return _commands_of(settings.CMDSET_CHARACTER)


def left_alone() -> tuple[str, ...]:
    """The commands that nothing is added to, since the game does them its own way."""
    found = _command_called("whisper", settings.CMDSET_CHARACTER)
    if found is None or _is_done_by_stock(found):
        return ()
    own = f"{type(found).__module__}.{type(found).__name__}"
    return (
        f"The game has a command whisper of its own ({own}), which stays as it is: where a player "
        "has the name of an assistant, it finds whom it finds",
    )


def own_speech(commands: Iterable[Command]) -> dict[str, str]:
    """Commands by which people speak, of the game's own: the path of each class, by its key."""
    found = {}
    for key in SPEECH:
        own = next((command for command in commands if command == key), None)
        if own is not None and not type(own).func.__module__.startswith(KNOWN_SPEECH):
            found[key] = f"{type(own).__module__}.{type(own).__name__}"
    return found


@lru_cache(maxsize=12)
def _commands_in(path: str) -> tuple[Command, ...]:
    token = _is_looking.set(True)
    try:
        made = class_from_module(path)()
        return (*made.commands, *made.system_commands)
    except Exception:
        logger.log_trace(f"[assistant] the commands of {path} could not be looked at")
        return ()
    finally:
        _is_looking.reset(token)


def _command_called(key: str, path: str) -> Command | None:
    return next((command for command in _commands_in(path) if command == key), None)


def _is_done_by_stock(command: Command) -> bool:
    return bool(type(command).func.__module__.startswith(STOCK))


@lru_cache(maxsize=4)
def _commands_of(path: str) -> tuple[type, ...]:
    found = ((added, _command_called(key, path)) for key, added in ADDED.items())
    return tuple(
        _extended(added, type(command))
        for added, command in found
        if command is not None and (added is TellsOfNames or _is_done_by_stock(command))
    )


def _extended(added: type, kind: type) -> type:
    namespace = {"__doc__": kind.__doc__, "__module__": kind.__module__}
    made: type = type(kind)(kind.__name__, (added, kind), namespace)
    return made
