"""The scene: all of a prompt that is not the turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evennia_ai.core.safety.guidelines import told
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.turn.contexts import (
    CONTEXTS,
    WITHOUT_TEXT,
    ContextConfig,
    ContextType,
    PromptPart,
    context_for,
)
from evennia_ai.core.turn.execution import ExecutionConfig, ExecutionPattern
from evennia_ai.core.turn.pattern import WIDEST, compose_pattern
from evennia_ai.core.turn.speech import ANSWERS
from evennia_ai.core.turn.tokens import Counter, count_tool
from evennia_ai.core.turn.toolspec import ToolSpec
from evennia_ai.errors import ConfigurationError
from evennia_ai.prompts.components import CARD_NOTES, COMPONENTS, SPECIALISTS, PromptComponent
from evennia_ai.prompts.placeholders import check_text, is_stable, placeholders_in
from evennia_ai.prompts.registry import PromptRegistry
from evennia_ai.prompts.rules import BLAND, GROUNDED, JSON, PLAIN, native_rules

Facts = Callable[[], Mapping[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The parts of a prompt beside the turn.

    Attributes:
        count: how many tokens a text has.
        count_tools: how many the descriptions of tools have, where somebody keeps that.
        max_tokens: the size of the model's context.
        text: who the assistant is and what it knows.
        pronouns: a sentence that tells how others speak of it, or "".
        card_notes: what its character card says of how to play it, or "".
        specialists: whom it may hand tasks to, a line each.
        template: a system prompt in place of ours, or "".
        tool_mode: "native" or "json".
        examples: pairs of what is asked and how it answers, for a model that is shown examples.
        hears_history: whether the model is shown the conversation so far. A small one is not: it
            repeats what it said before, wrong answers most of all.
        hint: what a small model answers from, a line behind the event; "": the model is told
            everything, and finds itself what bears on it.
        context: what is shown and how much of it.
        guidelines: how it behaves, a line each, told with who it is.
        goals: what it wants, a line each.
        notes: values of placeholders that other rooms give: tick_rate, memories, ...
        facts: gives the values of those about where it is; called only where a text has one.
        components: by id, in order.
        templates: keys of those that could be applied.
        allows_several: whether a reply may hold more than one call.
        pattern: the bounds of a tick, as settings and context have them.
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
    allows_several: bool = True
    pattern: ExecutionPattern = WIDEST
    count_tools: Callable[[Iterable[ToolSpec]], int] | None = None

    @property
    def is_grounded(self) -> bool:
        """True for a small model that answers a line: it is told what bears on it, no more."""
        return bool(self.hint)

    def is_plain(self, tools: Iterable[str]) -> bool:
        """True where a small model can only answer: it writes what is said, and no JSON around it.

        Args:
            tools: names of those on offer.
        """
        return self.is_grounded and ANSWERS.issuperset(tools)

    @property
    def most_tokens(self) -> int:
        """The size of the model's context, or what this context may use of it."""
        return min(self.max_tokens, self.context.token_budget or self.max_tokens)

    def tokens_of_tools(self, specs: Iterable[ToolSpec]) -> int:
        """The size of the descriptions of tools."""
        if self.count_tools is not None:
            return self.count_tools(specs)
        return sum(count_tool(spec, self.count) for spec in specs)

    def shows(self, number: int) -> bool:
        """True where a component has a place in this prompt."""
        component = self.components.get(number)
        return component is not None and component.enabled and self.context.shows(number)

    def _content(self, component: PromptComponent, tools: Iterable[str]) -> str:
        if component.id in self.context.component_overrides:
            return self.context.component_overrides[component.id]
        if component.id != PromptPart.SYSTEM_PROMPT:
            return component.content
        if self.context.is_inner:  # what such a call is asked stands in its request
            return ""
        return self.template or self._own_rules(tools)

    def _own_rules(self, tools: Iterable[str]) -> str:
        if self.is_grounded:
            return PLAIN if self.is_plain(tools) else GROUNDED
        if self.tool_mode == "json":
            return JSON
        return native_rules(
            allows_several=self.allows_several, has_find_tools="find_tools" in tools
        )

    def texts(self, tools: Iterable[str] = ()) -> list[tuple[PromptComponent, str]]:
        """The components that have a text of their own and are shown, in order.

        A text is not filled in yet: it is as the context has it, or as the component does.
        """
        found, tells_persona, context = [], False, self.context
        for number, component in self.components.items():
            if number in WITHOUT_TEXT or not component.enabled or not context.shows(number):
                continue
            # Rules of a game's own may tell the persona, and nobody is told it twice.
            if number == PromptPart.CHARACTER and tells_persona:
                continue
            text = self._content(component, tools)
            if number == PromptPart.SYSTEM_PROMPT:
                tells_persona = "persona" in placeholders_in(text)
            if text.strip():
                found.append((component, text))
        return found

    def value(self, placeholder: str) -> str:
        """The values of placeholders that do not depend on the turn."""
        if placeholder == "name":
            return one_line(self.name, 60)
        if placeholder == "persona":
            who = " ".join(filter(None, (self.text or BLAND, self.pronouns)))
            # A small model and one that thinks for itself are told no manners.
            is_told = not (self.is_grounded or self.context.is_inner)
            return "\n".join(filter(None, (who, told(self.guidelines) if is_told else "")))
        if placeholder == "goals":
            return "\n".join(f"- {goal}" for goal in self.goals)
        if placeholder == "card_notes":
            return self.card_notes
        if placeholder == "specialists":
            return "\n".join(f"- {each}" for each in self.specialists)
        return self.notes.get(placeholder, "")


def stage(
    read: Callable[[str], Any],
    context_type: ContextType,
    *,
    settings: object,
    is_native: bool,
    **more: Any,
) -> Scene:
    """The scene of an assistant, from what is stored of it: read anew, so an edit counts at once.

    Args:
        read: a setting of the assistant by its name.
        settings: the game's, of which EVENNIA_AI_PROMPTS and EVENNIA_AI_CONTEXT_CONFIGS count.
        is_native: whether its model knows tool calls.
        more: all else of a `Scene`; name, count and max_tokens have to be among it.

    Raises:
        ConfigurationError: something of it is wrong.
    """
    game = getattr(settings, "EVENNIA_AI_PROMPTS", {})
    registry = PromptRegistry.read(game, read("prompt_components"), read("prompt_templates"))
    own = read("system_prompt_native" if is_native else "system_prompt")
    context = _context(context_type, settings, read("context_configs"), registry.components)
    config = ExecutionConfig.from_stored(read("execution_config"))
    pattern = compose_pattern(config, context, reasons=(f"context {context.context_type}",))
    card_notes = str(read("card_notes")).strip()
    is_told = card_notes and not more.get("hint")  # a small model is shown one note, and no more
    added = [CARD_NOTES] if is_told else []
    added += [SPECIALISTS] if more.get("specialists") and pattern.allows_sub_agents else []
    return Scene(
        card_notes=card_notes,
        text=more.pop("text", read("persona")),
        template=registry.template(read("applied_template")) or own,
        examples=tuple(read("examples")),
        guidelines=tuple(read("guidelines")),
        context=context,
        allows_several=pattern.calls_per_reply > 1,
        pattern=pattern,
        components=_with(registry.components, added) if added else registry.components,
        templates=tuple(registry.templates),
        notes=_notes(read) | more.pop("notes", {}),
        **more,
    )


def _with(
    components: Mapping[int, PromptComponent], added: Iterable[PromptComponent]
) -> Mapping[int, PromptComponent]:
    """Components with others among them, where the game has none of their numbers."""
    return dict(sorted({**{each.id: each for each in added}, **components}.items()))


def _notes(read: Callable[[str], Any]) -> dict[str, str]:
    """The placeholders that are settings."""
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
