"""Inputs of prompts: all parts that do not come from the turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from evennia_ai.core.safety.guidelines import as_prompt
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.turn.contexts import (
    CONTEXTS,
    WITHOUT_TEXT,
    ContextConfig,
    ContextType,
    PromptPart,
    context_for,
)
from evennia_ai.core.turn.conversation import Message
from evennia_ai.core.turn.execution import ExecutionConfig, ExecutionPattern
from evennia_ai.core.turn.pattern import WIDEST, compose_pattern
from evennia_ai.core.turn.speech import ANSWERS
from evennia_ai.core.turn.tokens import Counter, count_messages, count_tool
from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.errors import ConfigurationError
from evennia_ai.prompts.components import CARD_NOTES, COMPONENTS, SPECIALISTS, PromptComponent
from evennia_ai.prompts.placeholders import check_text, is_stable, placeholders_in
from evennia_ai.prompts.registry import PromptRegistry
from evennia_ai.prompts.rules import BLAND, GROUNDED, JSON, PLAIN, native_rules

Facts = Callable[[], Mapping[str, str]]


@dataclass(frozen=True, kw_only=True)
class PromptInputs:
    """All parts of a prompt that do not come from the turn.

    Attributes:
        count_tools: counts the tokens of tool descriptions, with a cache; None: use `count`.
        count_messages: counts the tokens of messages, in one go; None: use `count`.
        text: the persona: who the assistant is and what it knows.
        pronouns: a sentence on the assistant's pronouns, or "".
        card_notes: the notes of its character card on how to play it, or "".
        specialists: the assistants to which it may delegate tasks, a line each.
        template: a system prompt that replaces ours, or "".
        tool_mode: "native" or "json".
        examples: pairs of question and answer, for a model that is shown examples.
        hears_history: True if the model is shown the conversation. A small one is not, because it
            repeats its earlier answers, wrong ones most of all.
        hint: the note from which a small model answers, shown behind the event; "": the model is
            shown everything.
        guidelines: rules of behaviour, a line each, shown with the persona.
        goals: the assistant's goals, a line each.
        notes: values of placeholders from other packages: tick_rate, memories, ...
        facts: gives the values of FACTS; called only if a text has one.
        components: by id, in order.
        templates: keys of the templates that could be applied.
        pattern: the limits of a tick from settings and context.
    """

    name: str
    count: Counter
    max_tokens: int
    text: str = ""
    pronouns: str = ""
    card_notes: str = ""
    specialists: tuple[str, ...] = ()
    template: str = ""
    tool_mode: str = "native"
    examples: Sequence[tuple[str, str]] = ()
    hears_history: bool = True
    hint: str = ""
    context: ContextConfig = CONTEXTS[ContextType.TICK_EVENT]
    guidelines: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)
    facts: Facts = dict
    components: Mapping[int, PromptComponent] = field(default_factory=lambda: COMPONENTS)
    templates: tuple[str, ...] = ()
    pattern: ExecutionPattern = WIDEST
    count_tools: Callable[[Iterable[ToolSpec]], int] | None = None
    count_messages: Callable[[Sequence[Message]], int] | None = None

    @cached_property
    def is_grounded(self) -> bool:
        """True for a small model that is shown one relevant note instead of everything."""
        return bool(self.hint)

    def is_plain(self, tools: Iterable[str]) -> bool:
        """True if a small model can only answer, and so writes plain text instead of JSON."""
        return self.is_grounded and ANSWERS.issuperset(tools)

    @property
    def most_tokens(self) -> int:
        """The size of the model's context, or the part of it that this context may use."""
        return min(self.max_tokens, self.context.token_budget or self.max_tokens)

    def tokens_of_tools(self, specs: Iterable[ToolSpec]) -> int:
        """Tokens of the tool descriptions."""
        if self.count_tools is not None:
            return self.count_tools(specs)
        return sum(count_tool(spec, self.count) for spec in specs)

    def tokens_of(self, messages: Sequence[Message]) -> int:
        """Tokens of messages."""
        if self.count_messages is not None:
            return self.count_messages(messages)
        return count_messages(messages, self.count)

    def shows(self, number: int) -> bool:
        """True if a component is part of this prompt."""
        component = self.components.get(number)
        return component is not None and component.enabled and self.context.shows(number)

    def _content(self, component: PromptComponent, tools: Iterable[str]) -> str:
        if component.id in self.context.component_overrides:
            return self.context.component_overrides[component.id]
        if component.id != PromptPart.SYSTEM_PROMPT:
            return component.content
        if self.context.is_inner:  # the request of such a call is its system prompt
            return ""
        return self.template or self._own_rules(tools)

    def _own_rules(self, tools: Iterable[str]) -> str:
        if self.is_grounded:
            return PLAIN if self.is_plain(tools) else GROUNDED
        if self.tool_mode == "json":
            return JSON
        allows_several = self.pattern.calls_per_reply > 1
        return native_rules(allows_several=allows_several, has_find_tools="find_tools" in tools)

    def texts(self, tools: Iterable[str] = ()) -> list[tuple[PromptComponent, str]]:
        """The shown components with their texts, in order; placeholders are not filled in yet."""
        texts, tells_persona, context = [], False, self.context
        for number, component in self.components.items():
            if number in WITHOUT_TEXT or not component.enabled or not context.shows(number):
                continue
            # A game's own system prompt may contain the persona, which must not appear twice.
            if number == PromptPart.CHARACTER and tells_persona:
                continue
            text = self._content(component, tools)
            if number == PromptPart.SYSTEM_PROMPT:
                tells_persona = "persona" in placeholders_in(text)
            if text.strip():
                texts.append((component, text))
        return texts

    def value(self, placeholder: str) -> str:
        """The value of a placeholder that does not depend on the turn."""
        if placeholder == "name":
            return one_line(self.name, 60)
        if placeholder == "persona":
            who = " ".join(filter(None, (self.text or BLAND, self.pronouns)))
            # Not for a small model, nor for an inner context, which does not speak to people.
            has_guidelines = not (self.is_grounded or self.context.is_inner)
            return "\n".join(
                filter(None, (who, as_prompt(self.guidelines) if has_guidelines else ""))
            )
        if placeholder == "goals":
            return "\n".join(f"- {goal}" for goal in self.goals)
        if placeholder == "card_notes":
            return self.card_notes
        if placeholder == "specialists":
            return "\n".join(f"- {each}" for each in self.specialists)
        return self.notes.get(placeholder, "")


def build_inputs(
    read: Callable[[str], Any],
    context_type: ContextType,
    *,
    settings: object,
    is_native: bool,
    **more: Any,
) -> PromptInputs:
    """Build the inputs of an assistant's prompts from its settings, read anew for each turn.

    Args:
        read: gives a setting of the assistant by name.
        settings: the game's; EVENNIA_AI_PROMPTS and EVENNIA_AI_CONTEXT_CONFIGS are read.
        more: further attributes of the `PromptInputs`; name, count and max_tokens are required.
    """
    game = getattr(settings, "EVENNIA_AI_PROMPTS", {})
    registry = PromptRegistry.read(game, read("prompt_components"), read("prompt_templates"))
    own = read("system_prompt_native" if is_native else "system_prompt")
    context = _context(context_type, settings, read("context_configs"), registry.components)
    config = ExecutionConfig.from_stored(read("execution_config"))
    pattern = compose_pattern(config, context, reasons=(f"context {context.context_type}",))
    card_notes = str(read("card_notes")).strip()
    has_card_notes = card_notes and not more.get("hint")  # a small model is shown one note only
    added = [CARD_NOTES] if has_card_notes else []
    added += [SPECIALISTS] if more.get("specialists") and pattern.allows_sub_agents else []
    return PromptInputs(
        card_notes=card_notes,
        text=more.pop("text", read("persona")),
        template=registry.template(read("applied_template")) or own,
        examples=tuple(read("examples")),
        guidelines=tuple(read("guidelines")),
        context=context,
        pattern=pattern,
        components=_with(registry.components, added) if added else registry.components,
        templates=tuple(registry.templates),
        notes=_notes(read) | more.pop("notes", {}),
        **more,
    )


def _with(
    components: Mapping[int, PromptComponent], added: Iterable[PromptComponent]
) -> Mapping[int, PromptComponent]:
    """The components with some added, in order; the game's own have precedence for an id."""
    return dict(sorted({**{each.id: each for each in added}, **components}.items()))


def _notes(read: Callable[[str], Any]) -> dict[str, str]:
    return {
        "tick_rate": f"{read('tick_rate'):g}",
        "reflection_interval": str(read("reflection_interval") or ""),
    }


def _context(
    context_type: ContextType,
    settings: object,
    own: Mapping[str, object],
    components: Mapping[int, PromptComponent],
) -> ContextConfig:
    game = getattr(settings, "EVENNIA_AI_CONTEXT_CONFIGS", {})
    config = context_for(context_type, game, own)
    for number, text in config.component_overrides.items():
        where = f"{context_type}.component_overrides[{number}]"
        check_text(text, where)
        component = _with(components, (CARD_NOTES, SPECIALISTS)).get(number)
        if component is not None and component.is_static and not is_stable(text):
            raise ConfigurationError(
                f"{where} changes from turn to turn, but {component.key} stands in the head of the "
                "prompt, which has to stay as it is; put that into a component of your own"
            )
    return config
