"""Extensions of the game's own commands: `whisper`, `@name`, `@alias` and `@scripts`.

Each is a subclass of the game's own class, so that its aliases, locks, help and behaviour stay.
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
SPEECH, AT_SAY = ("say", "whisper", "pose"), "at_say"
# Modules whose speech commands pass on the speaker and the kind of speech to those who hear it.
KNOWN_SPEECH = ("evennia.", "evennia_ai.")
# True while the game's command sets are instantiated to inspect them; ours then stay out.
_is_inspecting: ContextVar[bool] = ContextVar("is_inspecting", default=False)


class PrefersAssistant:
    """A `whisper` that prefers the assistant among several people with the same name."""

    caller: Any

    def func(self) -> Any:
        """Whisper to the assistant and say how to reach the others. Otherwise run the original."""
        message = getattr(self, "rhs", None)
        names = [name.strip() for name in (getattr(self, "lhs", None) or "").split(",")]
        meant = {name: body for name in names if (body := self._assistant(name)) is not None}
        if not message or not meant:
            return super().func()  # type: ignore[misc]
        beings = [meant.get(name) or self.caller.search(name) for name in dict.fromkeys(names)]
        receivers = [being for being in beings if being]
        # The same hooks as in Evennia's CmdWhisper.
        speech = self.caller.at_pre_say(message, whisper=True, receivers=receivers)
        to_self = None if self.caller in receivers else True
        self.caller.at_say(speech, msg_self=to_self, receivers=receivers, whisper=True)
        for name, body in meant.items():
            self._tell_of_others(name, body)
        return None

    def _assistant(self, name: str) -> Any:
        """The only assistant here with a name that others have too; otherwise None."""
        place = self.caller.location
        around = [*place.contents, *self.caller.contents] if place is not None else []
        called = [being for being in around if is_called(being, name, self.caller)]
        bodies = [being for being in called if getattr(being, "assistant_script", None)]
        # Without an ambiguity, or with two assistants, the game's own search decides.
        is_needed = len(bodies) == 1 < len(called)
        return bodies[0] if is_needed and bodies[0].access(self.caller, "search", True) else None

    def _tell_of_others(self, name: str, body: GameObject) -> None:
        """Tell the caller how to whisper to the others with this name."""
        matches = self.caller.search(name, quiet=True)
        ways = [
            settings.SEARCH_MULTIMATCH_TEMPLATE.format(
                name=literal(name), number=number, aliases="", info=""
            ).strip()
            for number, being in enumerate(matches, 1)
            if being not in (body, self.caller)
        ]
        if ways:
            visible_name = literal(name_of(body, self.caller))
            line = f"That went to {visible_name}, the assistant. Others are called so too; "
            self.caller.msg(f"{line}for them type: whisper {' or '.join(ways)} = <message>")


class TellsOfNames:
    """A naming command that reports why a name is refused."""

    msg: Any

    def func(self) -> Any:
        """Run the original, and show the error if the name is taken."""
        try:
            return super().func()  # type: ignore[misc]
        except NameTakenError as error:
            self.msg(literal(str(error)))
            return None


class LeavesAssistants:
    """A `scripts` that refuses to stop assistants: it checks no right and records nothing."""

    ENDS = frozenset(("stop", "pause", "delete"))
    caller: Any
    msg: Any
    switches: Any

    def func(self) -> Any:
        """Name the right command for an assistant. Run the original for other scripts."""
        keys = self._assistants() if self.ENDS.intersection(self.switches) else []
        if not keys:
            return super().func()  # type: ignore[misc]
        names = literal(", ".join(keys))
        tail = "which asks the locks of the body and is recorded."
        self.msg(f"Nothing is done: {names} is an assistant. Type: assistant stop | delete, {tail}")
        return None

    def _assistants(self) -> list[str]:
        """Keys of the assistants that the command would affect."""
        scripts: Any = ()
        if getattr(self, "typeclass_query", None):
            scripts = self._search_script() or ()  # type: ignore[attr-defined]
        if not scripts and (query := getattr(self, "obj_query", None)):
            for being in self.caller.search(query, quiet=True)[:1]:
                scripts = being.scripts.all()
        return [key for each in scripts if find_assistant(key := str(each.key)) is each]


ADDED = {
    "whisper": PrefersAssistant,
    "@name": TellsOfNames,
    "@alias": TellsOfNames,
    "@scripts": LeavesAssistants,
}


def is_inspecting() -> bool:
    """True while the game's command sets are instantiated only to inspect them."""
    return _is_inspecting.get()


def paths() -> tuple[str, ...]:
    """Paths of the game's command sets, the characters' first."""
    return settings.CMDSET_CHARACTER, settings.CMDSET_ACCOUNT, settings.CMDSET_SESSION


def all_commands() -> tuple[Command, ...]:
    """All commands of the game, without those of this package."""
    return tuple(command for path in paths() for command in _commands_in(path))


def commands() -> tuple[type, ...]:
    """The extended classes of the game's commands, without commands that it does not have."""
    return _commands_of(settings.CMDSET_CHARACTER)


def left_alone() -> tuple[str, ...]:
    """Sentences about commands that are not extended, because the game has customised them."""
    command = _command_called("whisper", settings.CMDSET_CHARACTER)
    if command is None or _is_done_by_stock(command):
        return ()
    own = f"{type(command).__module__}.{type(command).__name__}"
    return (
        f"The game has a command whisper of its own ({own}), which stays as it is: where a player "
        "has the name of an assistant, it finds whom it finds",
    )


def own_speech(commands: Iterable[Command]) -> dict[str, str]:
    """The game's customised speech: paths of classes by the key of the command, or by `at_say`."""
    owners = {}
    for key in SPEECH:
        own = next((command for command in commands if command == key), None)
        if own is not None and not type(own).func.__module__.startswith(KNOWN_SPEECH):
            owners[key] = f"{type(own).__module__}.{type(own).__name__}"
    # Evennia's commands speak through this method of the speaker.
    body = class_from_module(settings.BASE_CHARACTER_TYPECLASS)
    if not body.at_say.__module__.startswith(KNOWN_SPEECH):
        owners[AT_SAY] = f"{body.__module__}.{body.__name__}"
    return owners


# Command sets are instantiated once for each path, and not for each character.
@lru_cache(maxsize=12)
def _commands_in(path: str) -> tuple[Command, ...]:
    token = _is_inspecting.set(True)
    try:
        cmdset = class_from_module(path)()
        return (*cmdset.commands, *cmdset.system_commands)
    except Exception:
        # A broken set of the game: Evennia reports it itself, and ours must still load.
        logger.log_trace(f"[assistant] the commands of {path} could not be looked at")
        return ()
    finally:
        _is_inspecting.reset(token)


def _command_called(key: str, path: str) -> Command | None:
    return next((command for command in _commands_in(path) if command == key), None)


def _is_done_by_stock(command: Command) -> bool:
    return bool(type(command).func.__module__.startswith(STOCK))


@lru_cache(maxsize=4)
def _commands_of(path: str) -> tuple[type, ...]:
    named_commands = ((added, _command_called(key, path)) for key, added in ADDED.items())
    # A customised command may do anything, so replacing its `func` could break it. TellsOfNames
    # only catches an error of the original, and is always safe.
    return tuple(
        _extended(added, type(command))
        for added, command in named_commands
        if command is not None and (added is TellsOfNames or _is_done_by_stock(command))
    )


def _extended(added: type, kind: type) -> type:
    # Evennia takes help from the class's own docstring, and the module shows where it is from.
    namespace = {"__doc__": kind.__doc__, "__module__": kind.__module__}
    extended: type = type(kind)(kind.__name__, (added, kind), namespace)
    return extended
