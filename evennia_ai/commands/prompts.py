"""The subcommands of `assistant` that show and edit the model's prompts."""

from __future__ import annotations

from collections.abc import Callable

from evennia_ai.commands.base import number_of
from evennia_ai.commands.editing import open_editor
from evennia_ai.commands.words import WordCommand, subcommand
from evennia_ai.core.turn.contexts import ContextType
from evennia_ai.operations import AssistantScript, Result
from evennia_ai.operations.models import prompts, shown_prompts

EDIT = "edit"
# Words that may come first instead of an assistant's name.
VERBS = {
    "prompt": ("show", EDIT, *ContextType),
    "component": ("list", "set", EDIT, "on", "off", "delete"),
    "template": ("list", "set", EDIT, "apply", "delete"),
    "context": ("list", *ContextType),
}

LOOKS = ("", "show", "list")
Act = Callable[[AssistantScript, str, str], Result | None]


class PromptWords(WordCommand):
    """The subcommands about prompts."""

    def _dispatch(self, rest: str, word: str, act_on: Act) -> None:
        """Find the assistant, check the right, and run the subcommand or open the editor."""
        script, rest = self.whose(rest, VERBS[word])
        if script is None:
            return
        verb, _, rest = rest.strip().partition(" ")
        # After a context's name the act comes second; the name alone shows the context.
        is_context = verb.casefold() in tuple(ContextType)
        act = (rest.partition(" ")[0] if is_context else verb).casefold()
        if not self.may("show prompts" if act in LOOKS else "configure", script):
            return
        if act == EDIT:
            self._edit(script, word, verb, rest.strip())
            return
        result = act_on(script, verb.casefold(), rest.strip())
        if result is None:
            self.show_usage()
        elif result.ok and act in LOOKS:
            self.show_long(result.message)
        else:
            self.show_or_usage(result)

    def _edit(self, script: AssistantScript, word: str, verb: str, rest: str) -> None:
        """Open the line editor on a text. `open_editor` reports unknown texts."""
        if word == "prompt":
            open_editor(self.caller, script, rest.casefold() or "persona", "")
        elif word == "context" and verb.casefold() != EDIT:
            number = rest.partition(" ")[2].strip()
            open_editor(self.caller, script, "context component", f"{verb.casefold()} {number}")
        elif word != "context" and verb.casefold() == EDIT and rest:
            open_editor(self.caller, script, word, rest)
        else:
            self.show_usage()

    @subcommand(
        "assistant prompt <name> [<context>] [show | edit [<setting>]]",
        "What its model is sent when you whisper to it, or in another context, such "
        "as reflection, and the size of each part. Show prints all of it; edit opens "
        "its persona in the editor, or another text: system_prompt, "
        "system_prompt_native, compact_prompt, failure_line, thinking_lines.",
    )
    def _prompt(self, rest: str) -> None:
        self._dispatch(rest, "prompt", self._do_prompt)

    def _do_prompt(self, script: AssistantScript, verb: str, rest: str) -> Result | None:
        context, act = (verb, rest) if verb in tuple(ContextType) else ("", f"{verb} {rest}")
        act = act.strip().casefold()
        if act not in ("", "show"):
            return None
        context = context or ContextType.TICK_EVENT
        return shown_prompts.show_prompt(
            script, self.caller, is_whole=act == "show", context=context
        )

    @subcommand(
        "assistant component <name> [list | set <id> <key> = <text> | edit <id> | on <id> | "
        "off <id> | delete <id>]",
        "The parts of its prompt, and your own parts.",
    )
    def _component(self, rest: str) -> None:
        self._dispatch(rest, "component", self._do_component)

    def _do_component(self, script: AssistantScript, verb: str, rest: str) -> Result | None:
        if verb in ("", "list"):
            return None if rest else prompts.list_components(script)
        number, _, more = rest.partition(" ")
        if (id_ := number_of(number)) is None:
            return None
        if verb == "set":
            key, has_text, text = more.partition("=")
            if not (has_text and key.strip() and text.strip()):
                return None
            return prompts.set_component(script, id_, key.strip(), text.strip())
        if more:
            return None
        if verb in ("on", "off"):
            return prompts.switch_component(script, id_, verb == "on")
        return prompts.delete_component(script, id_) if verb == "delete" else None

    @subcommand(
        "assistant template <name> [list | set <key> = <text> | edit <key> | apply <key> | "
        "delete <key>]",
        "System prompts to choose from.",
    )
    def _template(self, rest: str) -> None:
        self._dispatch(rest, "template", self._do_template)

    def _do_template(self, script: AssistantScript, verb: str, rest: str) -> Result | None:
        if verb in ("", "list"):
            return None if rest else prompts.list_templates(script)
        if verb == "set":
            key, _, text = rest.partition("=")
            if not (key.strip() and text.strip()):
                return None
            return prompts.set_template(script, key.strip(), text.strip())
        acts = {"apply": prompts.apply_template, "delete": prompts.delete_template}
        return acts[verb](script, rest) if rest and verb in acts else None

    @subcommand(
        "assistant context <name> [list | <context> | <context> set <field> <value> | "
        "<context> edit <id> | <context> reset]",
        "How its prompt and its limits differ while it answers, rests, or works for somebody else.",
    )
    def _context(self, rest: str) -> None:
        self._dispatch(rest, "context", self._do_context)

    def _do_context(self, script: AssistantScript, verb: str, rest: str) -> Result | None:
        if verb in ("", "list"):
            return None if rest else prompts.list_contexts(script)
        act, _, more = rest.partition(" ")
        field, _, value = more.strip().partition(" ")
        if not act:
            return prompts.show_context(script, verb)
        if act == "reset" and not more:
            return prompts.reset_context(script, verb)
        if act == "set" and value.strip():
            return prompts.set_context(script, verb, field.casefold(), value.strip())
        return None
