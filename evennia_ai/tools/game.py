"""Tools that run game commands and set attributes. By default they allow nothing.

The owner lists what the assistant may use in `command_allowlist` and `attribute_allowlist`. The
game's own locks apply as well.
"""

from __future__ import annotations

import json
from typing import Any

from django.conf import settings
from evennia.commands.cmdhandler import generate_cmdset_providers, get_and_merge_cmdsets
from evennia.utils.utils import variable_from_module
from twisted.internet.defer import Deferred

from evennia_ai.core.text.cleaning import cut_at_sentence, one_line, quote, strip_control
from evennia_ai.core.turn.toolspec import ToolCategory
from evennia_ai.core.turn.turn import Turn
from evennia_ai.core.typed_objects import Being, GameObject
from evennia_ai.errors import ToolError
from evennia_ai.messages.lines import literal
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Character
from evennia_ai.runtime.rights import lets
from evennia_ai.tools.base import Tool
from evennia_ai.tools.commanding import (
    FAILED_INSIDE,
    Guarded,
    captured,
    leave_dialogue,
    tells_of_a_crash,
)
from evennia_ai.tools.orders import givers, may, refused
from evennia_ai.tools.registry import register, tool
from evennia_ai.tools.senses import find_here, label_of

# In characters.
LONGEST_COMMAND = 200
LONGEST_OUTPUT = 1500
LONGEST_VALUE = 1000
MOST_LISTED = 20


def _allowed(character: Character, setting: str) -> list[str]:
    """The owner's allowlist, case-folded."""
    script = getattr(character, "assistant_script", None)
    stored = state.read(script, setting) if script is not None else ()
    # A single name may be set as text, which must not be taken for a list of letters.
    names = [stored] if isinstance(stored, str) else stored
    allowed = [str(name).strip().casefold() for name in names if str(name).strip()]
    if not allowed:
        raise ToolError(f"you are allowed none: your owner put nothing on {setting}")
    return allowed


def _joined(names: list[str]) -> str:
    return ", ".join(names[:MOST_LISTED]) + (", …" if len(names) > MOST_LISTED else "")


# ---- commands ----------------------------------------------------------------------------------


def _one_line(command: str) -> str:
    line = command.strip()
    if not line or len(line) > LONGEST_COMMAND:
        raise ToolError(f"a command has 1 to {LONGEST_COMMAND} characters")
    if ";" in line or not line.isprintable() or strip_control(line) != line:
        raise ToolError("give one command, on one line, without ;")
    return line


async def _resolve(character: Character, line: str) -> tuple[Any, str, str, Any]:
    """Find the command for a line with the game's own parser, after replacing nicks.

    Returns:
        The command, the name used for it, its arguments, and the merged cmdset.
    """
    line = character.nicks.nickreplace(
        line, categories=("inputline", "channel"), include_account=True
    )
    # Checked again, because a nick may have added a second command to the line.
    line = _one_line(line)
    providers = generate_cmdset_providers(character)[1]
    merging: Deferred[Any] = get_and_merge_cmdsets(character, providers, "object", line)
    cmdset = await merging
    parser = variable_from_module(*settings.COMMAND_PARSER.rsplit(".", 1))
    matches = parser(line, cmdset, character) if cmdset else []
    if not isinstance(matches, list):
        # A game's COMMAND_PARSER may return a Deferred.
        matches = await matches
    if len(matches) != 1:
        several = f"{len(matches)} commands are" if matches else "no command is"
        raise ToolError(f"{several} called like {quote(line)}")
    name, arguments, command = matches[0][:3]
    return command, name, arguments, cmdset


def _may_type(character: Character, turn: Turn) -> bool:
    return bool(state.read(character.assistant_script, "command_allowlist"))


@tool(category="dangerous", useful_when=_may_type)
async def execute_command(character: Character, command: str, *, turn: Turn) -> str:
    """Type a command of the game, one of those that your owner allows you.

    Args:
        command: the whole line, such as: inventory.
    """
    allowed = _allowed(character, "command_allowlist")
    leave_dialogue(character)  # that a command began after a pause
    meant, name, arguments, cmdset = await _resolve(character, _one_line(command))
    if meant.key.casefold() not in allowed:
        shown = one_line(meant.key, 40)
        if name.casefold() in allowed:  # an alias, or the name of another command
            raise ToolError(
                f"{one_line(name, 40)} is the command {shown} here, and your owner did not put "
                f"{shown} on command_allowlist"
            )
        raise ToolError(f"you are not allowed the command {shown}; you may use {_joined(allowed)}")
    # An exit is a command, too: one with the name of an allowed command must not lead it away.
    if getattr(meant, "is_exit", False) and not may(
        character, character, "tool_move", turn, default=True
    ):
        raise ToolError(
            f"{one_line(meant.key, 40)} is an exit here, and you are not allowed to move"
        )
    # The command's lock is checked for the assistant later, and here for those who ordered it.
    for person in givers(turn):
        if not lets(meant, person, "cmd"):
            raise refused(person, f"the lock {meant.locks!r} of the command {meant.key}")
    # Pass the checked command itself: parsing the line again could find another one.
    guarded = Guarded.around(meant)
    with captured(character.assistant_script) as lines:
        try:
            await character.execute_cmd(
                arguments, cmdobj=guarded.command, cmdobj_key=name, cmdset=cmdset
            )
        finally:
            output = cut_at_sentence("\n".join(lines), LONGEST_OUTPUT)
            is_asking = leave_dialogue(character)
    what = f"the command {one_line(meant.key, 40)}"
    if guarded.has_failed or tells_of_a_crash(lines):
        raise ToolError(f"{what} {FAILED_INSIDE}")
    if is_asking:
        raise ToolError(f"{what} asks back, which you cannot answer: {quote(output)}")
    return f"the game answers {quote(output)}" if output else "done; the game said nothing"


# ---- attributes --------------------------------------------------------------------------------


def _literal(value: object) -> Any:
    """Escape markup in all texts of a value: a clickable link could run a command."""
    if isinstance(value, str):
        return literal(strip_control(value))
    if isinstance(value, list):
        return [_literal(item) for item in value]
    if isinstance(value, dict):
        return {_literal(name): _literal(item) for name, item in value.items()}
    return value


def _may_set(target: GameObject, being: Being, name: str) -> bool:
    """True if the locks of the target and of the attribute allow it."""
    if not (lets(target, being, "edit") or lets(target, being, "ai_set")):
        return False
    known = target.attributes.get(name, return_obj=True)
    if known is None:
        return lets(target, being, "attrcreate", default=True)
    return lets(known, being, "attredit", default=True)


@register
class SetAttribute(Tool):
    """Sets one attribute of an object that is here."""

    name = "set_attribute"
    description = "Change one of the properties of a thing here that your owner allows you to set."
    category = ToolCategory.DANGEROUS
    is_idempotent = True
    parameters = {
        "type": "object",
        "properties": {
            "target": {"type": "string", "description": "name of the thing, or: here"},
            "name": {"type": "string", "description": "name of the property"},
            "value": {
                "type": ["string", "number", "boolean", "null", "array", "object"],
                "description": "what it becomes",
            },
        },
        "required": ["target", "name", "value"],
    }

    def is_useful(self, character: Character, turn: Turn) -> bool:
        """True if the owner allows any attribute."""
        return bool(state.read(character.assistant_script, "attribute_allowlist"))

    def execute(self, character: Character, *, turn: Turn, **arguments: Any) -> str:  # type: ignore[override]
        """Set the attribute, if the allowlist and all locks allow it."""
        name, value = arguments["name"].strip().lower(), arguments["value"]
        allowed = _allowed(character, "attribute_allowlist")
        if name.casefold() not in allowed:
            raise ToolError(
                f"you are not allowed to set {one_line(name, 40)}; you may set {_joined(allowed)}"
            )
        if len(json.dumps(value, ensure_ascii=False)) > LONGEST_VALUE:
            raise ToolError(f"a value has at most {LONGEST_VALUE} characters")
        target = find_here(character, arguments["target"])
        what = label_of(target, character)
        if not _may_set(target, character, name):
            raise ToolError(f"you are not allowed to change {what}")
        for person in givers(turn):
            if not _may_set(target, person, name):
                raise refused(person, f"a lock of {what}")
        target.attributes.add(name, _literal(value))
        return f"{name} of {what} is set"
