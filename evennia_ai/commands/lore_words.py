"""The subcommands `aimemory lore`, which list and edit lore."""

from __future__ import annotations

from evennia_ai import operations
from evennia_ai.commands.base import AssistantCommand, first_word
from evennia_ai.core.memory.recollection import WORLD

LORE = "lore"
VERBS = ("add", "change", "remove")
HOW = (
    "aimemory lore, aimemory lore add [world | room #2 | faction <name>] <word,word> = <text>, "
    "aimemory lore change <number> = <text>, aimemory lore remove <number>"
)
LOOK, CHANGE = "show memories", "change lore"


def do_lore(command: AssistantCommand, line: str) -> None:
    """Run `aimemory lore`.

    Args:
        command: the command that was typed.
        line: everything after the word `lore`.
    """
    command.how = HOW
    head, is_text, text = line.partition("=")
    (word, rest), by = first_word(head), command.by
    if not word and not is_text:
        if command.may(LOOK):
            command.show_long(operations.list_lore().message)
    # Only `remove` has no text, and only `add` has more than a number in front of the =.
    elif (
        word not in VERBS
        or (word == "remove") == bool(is_text)
        or not (rest and (word == "add" or " " not in rest))
    ):
        command.show_usage(f"There is no 'aimemory lore {line}'.")
    elif not command.may(CHANGE):
        return
    elif word == "add":
        _add(command, rest, text.strip())
    elif word == "change":
        command.show(operations.change_lore(rest, text=text.strip(), by=by))
    else:
        command.show(operations.remove_lore(rest, by=by))


def _add(command: AssistantCommand, head: str, text: str) -> None:
    audience, words = _audience(head)
    keywords = [word.strip() for word in words.split(",")]
    command.show(operations.add_lore(text, keywords=keywords, audience=audience, by=command.by))


def _audience(head: str) -> tuple[str, str]:
    """Split an audience from the keywords after it, as in `room #2 lamp,light`."""
    # A faction's name must be one word here; over the API it can have several.
    first, _, rest = head.partition(" ")
    kind = first.casefold()
    if kind == WORLD and rest:
        return WORLD, rest.strip()
    if kind in ("room", "faction") and rest:
        name, _, words = rest.strip().partition(" ")
        return f"{kind} {name}", words.strip()
    return WORLD, head
