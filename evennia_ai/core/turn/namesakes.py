"""People who have one name in turns, and people with a new name, in an earlier conversation.

Its texts hold names only. A mark beside each text says whom it names, so that a prompt can say
where a name was somebody else's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evennia_ai.core.text.cleaning import name_as_data
from evennia_ai.core.turn.compaction import summary_message, summary_text
from evennia_ai.core.turn.conversation import NAMED, Message, known_messages

Bearers = Mapping[str, str]
NAMESAKE = "(The {name} of these lines is another person than the {name} you meet later.)"
RENAMED = "({name} is now called {now}.)"


def bearers(history: Sequence[Message], event_names: Bearers, person: str = "") -> Bearers:
    """The ids of those who had each name last, as far as a turn for this person may know.

    Args:
        event_names: those of the turn itself.
    """
    last: dict[str, str] = {}
    for message in known_messages(history, person):
        if NAMED in message:
            last.update(message[NAMED])
    last.update(event_names)
    return last


def told_apart(
    messages: Sequence[Message], last: Bearers, now: str = "", person: str = ""
) -> list[Message]:
    """The messages, with a line where a name is not that of the person who had it last.

    Args:
        now, person: name and id of the one who alone hears the answer, and so may read their
            earlier names; "" where others hear it.
    """
    return [
        _with_notes(message, _notes(message[NAMED], last, now, person))
        if NAMED in message
        else message
        for message in messages
    ]


def _notes(named: Bearers, last: Bearers, now: str, person: str) -> list[str]:
    notes = []
    for name, who in named.items():
        shown = name_as_data(name)
        if last.get(name, who) != who:
            notes.append(NAMESAKE.format(name=shown))
        if person and who == person and name != now:
            notes.append(RENAMED.format(name=shown, now=name_as_data(now)))
    return notes


def _with_notes(message: Message, notes: Sequence[str]) -> Message:
    if not notes:
        return message
    if summary := summary_text(message):
        return {**message, **summary_message("\n".join([summary, *notes]))}
    return {**message, "content": "\n".join([str(message["content"]), *notes])}
