"""The messages of one model call: a stable head, the conversation, and the changing parts last.

Providers cache a common beginning of prompts. So everything that changes from turn to turn comes
after the conversation, in one message with the event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from json import dumps
from operator import itemgetter

from evennia_ai.core.memory.extraction import LONGEST_ENTRY, Request
from evennia_ai.core.text.cleaning import cut_at_sentence, quote
from evennia_ai.core.turn.compaction import fit
from evennia_ai.core.turn.contexts import MAIN_PARTS, PromptPart
from evennia_ai.core.turn.conversation import Message, turn_text, user_message
from evennia_ai.core.turn.turn import Turn
from evennia_ai.engine.ports import Prompt, Specs
from evennia_ai.prompts.components import PromptComponent
from evennia_ai.prompts.examples import examples, grounded_examples
from evennia_ai.prompts.inputs import PromptInputs
from evennia_ai.prompts.placeholders import (
    WITH_MACROS,
    fill,
    fill_macros,
    is_fact,
    is_stable,
    placeholders_in,
    speaker_as_data,
)

# A quarter of the context is reserved for the answer, but at most this many tokens.
MOST_RESERVE = 1000
# The largest share of the context for each changing component; the conversation gets the rest.
TAIL_SHARE = 0.1
# Characters per entry of an inner context: the next length is tried until its prompt fits.
LENGTHS = (LONGEST_ENTRY, 1_000, 500, 250, 125)
# The placeholders of the parts that can be the subject of an inner context.
OF_PARTS = {PromptPart.MEMORIES: "memories", PromptPart.GOALS: "goals"}
# Gives the value of a placeholder.
Value = Callable[[str], str]
# A component's id, and its filled-in text.
Block = tuple[int, str]
# A component, and its filled-in text, which may be "".
Filled = tuple[PromptComponent, str]


def compose(inputs: PromptInputs, turn: Turn, specs: Specs) -> Prompt:
    """The prompt of a turn's next model call, cut to fit into the context if that is possible.

    The conversation is cut at its beginning. If the prompt does not fit even without it, overheard
    lines are left out. A prompt that still does not fit has a `usage_ratio` above 1.
    """
    value, texts = _Values(inputs, turn, specs), inputs.texts(specs)
    parts, tail = _head_parts(texts, value), _tail(inputs, texts, value)
    head = _with_examples(inputs, parts, specs)
    shown = () if inputs.is_plain(specs) else specs.values()
    tools = inputs.tokens_of_tools(shown)
    most = inputs.most_tokens
    room = most - min(most // 4, MOST_RESERVE) - tools
    has_overheard = inputs.shows(PromptPart.OVERHEARD) and not inputs.is_grounded
    components, messages_of_turn = _turn_messages(inputs, turn, tail, tells_overheard=has_overheard)
    fixed = inputs.tokens_of([*head, *messages_of_turn])
    if fixed > room and has_overheard and turn.overheard:
        components, messages_of_turn = _turn_messages(inputs, turn, tail, tells_overheard=False)
        fixed = inputs.tokens_of([*head, *messages_of_turn])
    history, size = _fitting(inputs, turn.history, room - fixed)
    messages, size = [*head, *history, *messages_of_turn], tools + fixed + size
    blocks = [(component.key, text) for component, text in parts]
    blocks += [(inputs.components[number].key, text) for number, text in components]
    is_same, rules, sources = True, "", []
    for component, text in texts:
        sources.append((component.key, text))
        if component.is_static:
            is_same = is_same and is_stable(text)
        if component.id == PromptPart.SYSTEM_PROMPT:
            rules = text
    return Prompt(messages, size, most, inputs.count, tools, rules, blocks, is_same, sources)


def stable_head(inputs: PromptInputs, turn: Turn, specs: Specs) -> list[Message]:
    """The messages with which every prompt of an assistant begins, whatever the event."""
    parts = _head_parts(inputs.texts(specs), _Values(inputs, turn, specs))
    return _with_examples(inputs, parts, specs)


def told_components(inputs: PromptInputs, turn: Turn, specs: Specs) -> list[Block]:
    """The components that have a text in this turn, by id, with the text as the model reads it."""
    value = _Values(inputs, turn, specs)
    filled = ((c.id, _filled(text, value)) for c, text in inputs.texts(specs))
    return [(number, text) for number, text in filled if text]


def compose_inner(inputs: PromptInputs, request: Request, specs: Specs) -> Prompt:
    """The prompt of a background call: the parts of its context, and the request.

    The request is always last in the head, so that no text of a game or an assistant replaces it.
    """
    most, tools = inputs.most_tokens, inputs.tokens_of_tools(specs.values())
    room = most - min(most // 4, MOST_RESERVE) - tools
    for longest in LENGTHS:
        messages = _inner_messages(inputs, request, specs, longest)
        size = inputs.tokens_of(messages)
        if size <= room:
            break
    return Prompt(messages, tools + size, most, inputs.count, tools)


def _inner_messages(
    inputs: PromptInputs, request: Request, specs: Specs, longest: int
) -> list[Message]:
    main = MAIN_PARTS[inputs.context.context_type]
    texts_of_parts = {main: request.as_prompt(is_known=False, longest=longest)}
    known = request.as_prompt(is_known=True, longest=longest)
    if known and inputs.shows(PromptPart.MEMORIES):
        before = texts_of_parts.get(PromptPart.MEMORIES, "")
        texts_of_parts[PromptPart.MEMORIES] = "\n\n".join(filter(None, (before, known)))
    own_values = {OF_PARTS[part]: text for part, text in texts_of_parts.items() if part in OF_PARTS}
    of_inputs = _Values(inputs, Turn(0, ()), specs)

    def value(name: str) -> str:
        return own_values[name] if name in own_values else of_inputs(name)

    texts = inputs.texts(specs)
    system, *others = _head(_head_parts(texts, value))
    instructions = "\n\n".join(filter(None, (str(system["content"]), request.prompt)))
    tail = [
        (number, text)
        for number, text in _tail(inputs, texts, value)
        if number not in texts_of_parts
    ]
    tail += [
        (int(part), _framed(inputs, part, text, value)) for part, text in texts_of_parts.items()
    ]
    moment = "\n\n".join(text for _, text in sorted(tail))
    return [{"role": "system", "content": instructions}, *others, user_message(moment)]


def _framed(inputs: PromptInputs, part: PromptPart, text: str, value: Value) -> str:
    """The subject of a call in the frame text of its context; appended if the frame omits it."""
    frame = inputs.context.component_overrides.get(part, "")
    filled = fill(frame, value)
    return filled if OF_PARTS.get(part) in placeholders_in(frame) else f"{filled}\n{text}".strip()


@dataclass(frozen=True)
class _Values:
    """The values of placeholders in one prompt."""

    inputs: PromptInputs
    turn: Turn
    specs: Specs

    @cached_property
    def _facts(self) -> Mapping[str, str]:
        # Only if a text needs it, as it searches the room.
        return self.inputs.facts()

    def __call__(self, name: str) -> str:
        if name == "tool_schemas":
            return dumps([spec.as_function["function"] for spec in self.specs.values()])
        if name == "speaker":
            return speaker_as_data(self.turn.event.sender_name if self.turn.events else "")
        if is_fact(name):
            return self._facts.get(name, "")
        text = self.inputs.value(name)
        if name in WITH_MACROS:
            text = fill_macros(text, self)
        # Quoted last, so that no name that was filled in can end the quotes.
        return quote(text) if name == "card_notes" and text else text


def _filled(text: str, value: Value) -> str:
    """A component's text with its placeholders filled in; "" if all their values are empty."""
    names = placeholders_in(text)
    if not names:
        return text
    values = {name: value(name) for name in names}
    return fill(text, values.__getitem__) if any(values.values()) else ""


def _with_examples(inputs: PromptInputs, parts: Sequence[Filled], specs: Specs) -> list[Message]:
    """The head, followed by example turns for a model that needs them."""
    head = _head(parts)
    if inputs.is_grounded:
        return head + grounded_examples(is_plain=inputs.is_plain(specs))
    return head + examples(inputs.examples) if inputs.tool_mode == "json" else head


def _head_parts(texts: Iterable[Filled], value: Value) -> list[Filled]:
    return [(c, _filled(text, value)) for c, text in texts if c.is_static]


def _head(parts: Sequence[Filled]) -> list[Message]:
    """One system message, and the messages of a game's components with other roles."""
    system, others = [], []
    for component, text in parts:
        if component.role == "system":
            system.append(text)
        else:
            others.append({"role": component.role, "content": text})
    return [{"role": "system", "content": "\n\n".join(filter(None, system))}, *others]


def _tail(inputs: PromptInputs, texts: Iterable[Filled], value: Value) -> list[Block]:
    """The changing components, in order."""
    filled = [(c.id, _filled(text, value)) for c, text in texts if not c.is_static]
    return [(number, _within_share(inputs, text)) for number, text in filled if text]


def _within_share(inputs: PromptInputs, text: str) -> str:
    most, size = int(inputs.most_tokens * TAIL_SHARE), inputs.count(text)
    return text if size <= most else cut_at_sentence(text, len(text) * most // size)


def _newest_within_share(inputs: PromptInputs, turn: Turn, *, shows_trust: bool) -> str:
    """The newest overheard lines that fit into a component's share."""
    most = int(inputs.most_tokens * TAIL_SHARE)
    for first in range(len(turn.overheard)):
        text = turn_text((), turn.overheard[first:], shows_trust=shows_trust).rstrip("\n")
        if inputs.count(text) <= most:
            return text
    return ""


def _turn_messages(
    inputs: PromptInputs, turn: Turn, tail: Sequence[Block], *, tells_overheard: bool
) -> tuple[list[Block], list[Message]]:
    """The changing components with the event, and the turn's messages, the first made of these."""
    # Trust values confuse a small model, so its prompt has none.
    overheard, event = _moment(inputs, turn, shows_trust=inputs.tool_mode != "json")
    parts = [*tail, (int(PromptPart.EVENT), event)]
    if inputs.is_grounded:
        parts = [(int(PromptPart.EVENT), f"{event}\n{inputs.hint}")]
    if tells_overheard:
        parts.append((int(PromptPart.OVERHEARD), overheard))
    parts = sorted([each for each in parts if each[1]], key=itemgetter(0))
    moment = user_message("\n\n".join([text for _, text in parts]))
    return parts, [moment, *turn.said[1:]]


def _moment(inputs: PromptInputs, turn: Turn, *, shows_trust: bool) -> tuple[str, str]:
    """The overheard lines and the events, as texts."""
    # A turn continued from its checkpoint repeats the text that the model has read before.
    if turn.said and shows_trust:
        text = str(turn.said[0]["content"])
        heard = turn.overheard
        if not heard or text != turn_text(turn.events, heard, shows_trust=True):
            return "", text
    overheard = _newest_within_share(inputs, turn, shows_trust=shows_trust)
    return overheard, turn_text(turn.events, shows_trust=shows_trust)


def _fitting(
    inputs: PromptInputs, history: Sequence[Message], room: int
) -> tuple[Sequence[Message], int]:
    """The newest part of the conversation that fits, and its size in tokens.

    It is cut in steps of a third of the room, counted from its beginning. If it were cut exactly,
    it would begin with another message in every turn, and no prompt cache could be used.
    """
    if not inputs.hears_history or not inputs.shows(PromptPart.HISTORY) or room <= 0:
        return [], 0
    size = inputs.tokens_of(history)
    if size <= room:
        return history, size
    step = max(1, room // 3)
    steps = -(-(size - room) // step)  # rounded up
    fitting = fit(history, max(0, size - steps * step), inputs.tokens_of)
    return fitting, inputs.tokens_of(fitting)
