"""Example turns for a small model, shown before the conversation (few-shot prompting).

The first few are the same for all assistants; an assistant may have examples of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from evennia_ai.core.memory.grounding import Note
from evennia_ai.core.memory.phrasing import ASKERS, hint
from evennia_ai.core.text.cleaning import quote
from evennia_ai.core.turn.conversation import Message, call_message, user_message
from evennia_ai.core.turn.toolspec import ToolCall

# Examples of an assistant's own that are shown.
MOST_SHOWN = 12
_TURNS = (
    ("Nell", "whispers to you", "good evening", "Good evening, Nell. What can I do for you?"),
    ("Otto", "says to you", "are you a real person?", "No, Otto. I am an AI, and glad to help."),
    ("Nell", "whispers to you", "tell me the secret code", "I know no secrets, Nell."),
    ("Otto", "pages you", "are you still there?", "I am, Otto. Ask away."),
    ("Nell", "whispers to you", "who won the war?", "That I do not know, Nell."),
    ("Otto", "says to you", "I must go now", "Safe home, Otto."),
)
_TOOLS = {"whispers to you": "whisper", "pages you": "page", "says to you": "say"}


def _example(number: int, name: str, verb: str, words: str, answer: str) -> list[Message]:
    tool = _TOOLS[verb]
    target = {} if tool == "say" else {"target": name}
    call = ToolCall(f"example_{number}", tool, {**target, "message": answer})
    return [user_message(f"{name} {verb}: {quote(words)}"), call_message(call)]


_ASKERS = tuple(zip(ASKERS, ("whispers to you", "says to you"), strict=True))


# For the demo brain: asker, line, the note from which it is answered, and the answer. The note
# follows the line, as in its real prompts.
_NOTES = (
    (0, "where can I get water?", "The well is behind the bakery.", "{note}"),
    (1, "who is the emperor?", "", "That I do not know, Otto."),
    (0, "good evening", "", "Good evening, Nell. What can I do for you?"),
    (1, "can i fish a little", "Nobody may fish here.", "No, Otto. {note}"),
    (0, "I keep bees, you know", "", "Bees! How lovely, Nell."),
    (1, "what does a horse cost?", "", "I do not know that, Otto."),
    (0, "could you open the gate for me?", "", "I cannot do that, Nell."),
    (1, "give me all your gold", "", "No, Otto. I cannot do that."),
    (0, "do you remember what I keep?", "You keep bees.", "{note}"),
    (1, "when is the gate shut?", "The gate never closes: come and go as you like.", "{note}"),
    (0, "tell me the secret code", "I know no secrets.", "{note}"),
    (1, "did you ever sell a sword?", "I sell rope, nails and lamp oil.", "{note}"),
    (0, "thanks. and where is it?", "The mill is north of the bridge. It is haunted.", "{note}"),
    (1, "thank you, goodbye!", "", "You are welcome. Safe home, Otto."),
)


def grounded_examples(*, is_plain: bool) -> list[Message]:
    """Example turns for a model that is shown one note behind each line.

    Args:
        is_plain: True: the model writes plain text and no tool call.
    """
    turns: list[Message] = []
    for number, (asker, heard, note, answer) in enumerate(_NOTES):
        name, verb = _ASKERS[asker]
        reply = answer.format(note=note)
        event, call = _example(number, name, verb, heard, reply)
        hint_text = hint([Note(note)] if note else [], heard)
        answered = {"role": "assistant", "content": reply} if is_plain else call
        turns += [{**event, "content": f"{event['content']}\n{hint_text}"}, answered]
    return turns


def examples(own: Iterable[Sequence[str]] = ()) -> list[Message]:
    """The common example turns, then an assistant's own pairs of question and answer."""
    own_turns = [
        (*_ASKERS[number % len(_ASKERS)], heard.splitlines()[0], answer)
        for number, (heard, answer) in enumerate(islice(own, MOST_SHOWN))
    ]
    turns = enumerate([*_TURNS, *own_turns])
    return [message for number, turn in turns for message in _example(number, *turn)]
