"""What staff type after `assistant` to see and change what its model is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evennia_ai import operations
from evennia_ai.commands.base import AssistantCommand
from evennia_ai.core.contexts import ContextType
from evennia_ai.operations import Result, prompting

USAGE = {
    "prompt": "Usage: assistant prompt <name> [show]",
    "component": (
        "Usage: assistant component <name> [list | set <id> <key> = <text> | on <id> | off <id> | "
        "delete <id>]"
    ),
    "template": (
        "Usage: assistant template <name> [list | set <key> = <text> | apply <key> | delete <key>]"
    ),
    "context": (
        "Usage: assistant context <name> [list | <context> | <context> set <field> <value> | "
        "<context> reset]"
    ),
}
WORDS = {
    "prompt": ("show",),
    "component": ("list", "set", "on", "off", "delete"),
    "template": ("list", "set", "apply", "delete"),
    "context": ("list", *ContextType),
}

LOOKS = ("", "show", "list")


def _changes(verb: str, rest: str) -> bool:
    """Whether what is typed after a name changes anything; a context is looked at by its name."""
    verb = verb.casefold()
    return bool(rest.strip()) if verb in tuple(ContextType) else verb not in LOOKS


def _split_name(line: str) -> tuple[Any, str]:
    """The assistant whose name a line begins with, or None, and the rest of the line."""
    parts = line.split(" ")
    for count in range(len(parts), 0, -1):
        name = " ".join(parts[:count])
        script = operations.find_assistant(name) if name.strip() else None
        if script is not None:
            return script, " ".join(parts[count:]).strip()
    return None, line


class PromptWords(AssistantCommand):
    """The words of `assistant` about prompts; all need the lock `staff`."""

    def prompt_words(self) -> dict[str, Callable[[str], None]]:
        """Each word and what it does."""
        return {
            "prompt": lambda rest: self._do("prompt", rest, self._prompt),
            "component": lambda rest: self._do("component", rest, self._component),
            "template": lambda rest: self._do("template", rest, self._template),
            "context": lambda rest: self._do("context", rest, self._context),
        }

    def _do(self, word: str, rest: str, act: Callable[[Any, str, str], Result | None]) -> None:
        """Find the assistant, do it, and show how it went; or how the word is used."""
        script, rest = self._whose(rest, WORDS[word])
        if script is None:
            return
        verb, _, rest = rest.strip().partition(" ")
        if _changes(verb, rest) and not self.controls(script, f"{word} {verb.casefold()}"):
            return
        result = act(script, verb.casefold(), rest.strip())
        if result is None:
            self.msg(USAGE[word])
        else:
            self.show(result)

    def _whose(self, rest: str, words: tuple[str, ...]) -> tuple[Any, str]:
        """The assistant that a line names, and the line without the name.

        A name may have several words. It stands first, or after the first word, where that was
        typed as a switch. Without any name the only assistant there is is meant.
        """
        script, more = _split_name(rest)
        if script is not None:
            return script, more
        first, _, more = rest.partition(" ")
        if first.casefold() not in ("", *words):
            return self.pick(first), ""
        script, more = _split_name(more)
        return (script, f"{first} {more}") if script is not None else (self.pick(""), rest)

    def _prompt(self, script: Any, verb: str, rest: str) -> Result | None:
        if rest or verb not in ("", "show"):
            return None
        return prompting.show_prompt(script, self.caller, is_whole=verb == "show")

    def _component(self, script: Any, verb: str, rest: str) -> Result | None:
        if verb in ("", "list"):
            return None if rest else prompting.list_components(script)
        number, _, more = rest.partition(" ")
        if not (number.isdecimal() and len(number) <= 9):
            return None
        if verb == "set":
            key, has_text, text = more.partition("=")
            if not (has_text and key.strip() and text.strip()):
                return None
            return prompting.set_component(script, int(number), key.strip(), text.strip())
        if more:
            return None
        if verb in ("on", "off"):
            return prompting.switch_component(script, int(number), verb == "on")
        return prompting.delete_component(script, int(number)) if verb == "delete" else None

    def _template(self, script: Any, verb: str, rest: str) -> Result | None:
        if verb in ("", "list"):
            return None if rest else prompting.list_templates(script)
        if verb == "set":
            key, _, text = rest.partition("=")
            if not (key.strip() and text.strip()):
                return None
            return prompting.set_template(script, key.strip(), text.strip())
        acts = {"apply": prompting.apply_template, "delete": prompting.delete_template}
        return acts[verb](script, rest) if rest and verb in acts else None

    def _context(self, script: Any, verb: str, rest: str) -> Result | None:
        if verb in ("", "list"):
            return None if rest else prompting.list_contexts(script)
        act, _, more = rest.partition(" ")
        field, _, value = more.strip().partition(" ")
        if not act:
            return prompting.show_context(script, verb)
        if act == "reset" and not more:
            return prompting.reset_context(script, verb)
        if act == "set" and value.strip():
            return prompting.set_context(script, verb, field.casefold(), value.strip())
        return None
