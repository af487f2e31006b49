"""Serializers of request bodies and query strings.

Their docstrings and help texts are part of the OpenAPI schema.
"""

from __future__ import annotations

from rest_framework import serializers

from evennia_ai.api.fields import (
    MOST_NUMBER,
    Audience,
    Count,
    Flag,
    LineField,
    Name,
    Number,
    Person,
    Plain,
    StrictMapping,
    TaskName,
    Text,
    Whole,
    Word,
)
from evennia_ai.core.memory.recollection import MemoryKind
from evennia_ai.core.text.plain_data import LONGEST_VALUE
from evennia_ai.core.turn.contexts import ContextType
from evennia_ai.core.turn.goal_times import LONGEST_WHEN
from evennia_ai.core.turn.goals import COMPLETED, DROPPED, LONGEST_GOAL, PRIORITIES
from evennia_ai.operations.assistants.creation import LONGEST_PATH
from evennia_ai.operations.assistants.looks import LONGEST_DESC, MOST_ALIASES
from evennia_ai.operations.memory.rows import LONGEST_TEXT
from evennia_ai.operations.rights.tokens import SCOPE, SCOPES

ENDS = [COMPLETED, DROPPED]
KINDS = [MemoryKind.FACT.value, MemoryKind.INSIGHT.value, MemoryKind.JOURNAL.value]


class WholeAssistant(StrictMapping):
    """The whole description of an assistant."""

    desc = Text(
        max_length=LONGEST_DESC, allow_blank=True, help_text="What people see when they look at it."
    )
    persona = Text(
        max_length=LONGEST_VALUE,
        allow_blank=True,
        help_text="Who it is and what it knows, as told to its model.",
    )
    location = Text(max_length=100, help_text="Room it stands in: a name, or a number such as #12.")
    aliases = serializers.ListField(child=Name(), max_length=MOST_ALIASES, help_text="Other names.")


class ChangedAssistant(WholeAssistant):
    """Fields of an assistant to change; a field that is not named stays."""

    needed = ()  # the keys of the whole assistant, none of which a PATCH has to have


class NewAssistant(WholeAssistant):
    """An assistant to create."""

    needed = ("key",)

    key = Name(help_text="Name of the assistant.")
    typeclass = Text(
        max_length=LONGEST_PATH,
        help_text="Path of its body's typeclass; by default the game's character typeclass.",
    )


class Adoption(StrictMapping):
    """A being of the game that becomes an assistant."""

    npc = Text(max_length=100, help_text="Name of the object, or its number such as #12.")
    key = Name(required=False, help_text="Name of the assistant; by default the object's name.")


class Copy(StrictMapping):
    """The name of a copy."""

    key = Name(help_text="Name of the assistant.")


class WhyStopped(StrictMapping):
    """The reason for an act."""

    reason = Text(max_length=500, required=False, help_text="Reason, for staff and the audit log.")


class NewGoal(StrictMapping):
    """A goal to set."""

    text = Text(max_length=LONGEST_GOAL, help_text="The goal in words.")
    priority = Whole(
        min_value=PRIORITIES.start,
        max_value=PRIORITIES.stop - 1,
        required=False,
        help_text="Priority from 1 (can wait) to 10 (urgent); 5 by default.",
    )
    parent = Whole(
        min_value=1, required=False, help_text="Number of the open goal that it is part of."
    )
    when = Text(
        max_length=LONGEST_WHEN,
        required=False,
        help_text="Time: at 18:30, at dusk, daily at 08:00, in 2 hours, 2026-12-01 18:00.",
    )


class EndOfGoal(StrictMapping):
    """The end of a goal."""

    status = Word(choices=ENDS, help_text="`completed` or `dropped`.")


class Instruction(StrictMapping):
    """An instruction to an assistant."""

    instruction = Text(max_length=2000, help_text="The instruction in words, like a whisper to it.")
    name = TaskName(
        required=False,
        help_text="Your own unique name for this task: sent again, it is not done again.",
    )


class Arguments(StrictMapping):
    """Arguments of a tool."""

    arguments = Plain(required=False, help_text="As described by the tool's `parameters`.")


class LookedAt(StrictMapping):
    """The mark of what was reviewed."""

    mark = LineField(max_length=64, help_text="Mark, as `tools/held/` shows it.")


class GivenAnswer(StrictMapping):
    """An answer to a question."""

    answer = Text(max_length=100, help_text="One of the choices, or `take` or `drop`.")


class EditNumber(StrictMapping):
    """The edit to undo; without a number the newest."""

    number = Whole(
        min_value=1, max_value=MOST_NUMBER, required=False, help_text="Number of the edit."
    )


class Login(StrictMapping):
    """A name and a password."""

    username = LineField(max_length=150, help_text="Name of the account.")  # Django's own limit
    # Blanks at its ends are part of a password.
    password = Text(max_length=500, trim_whitespace=False, help_text="Password of the account.")
    name = LineField(max_length=60, required=False, help_text="Purpose of the token.")
    scope = Word(choices=SCOPES, required=False, help_text=f"{SCOPE} Else `usual`.")


class WhoseTokens(StrictMapping):
    """The account whose tokens are meant."""

    account = Person(required=False, help_text="Account such as `account-3`; by default your own.")


def _importance() -> Whole:
    return Whole(min_value=1, max_value=10, required=False, help_text="From 1 to 10; 5 is usual.")


class NewMemory(StrictMapping):
    """Something that an assistant is to remember."""

    text = Text(max_length=LONGEST_TEXT, help_text="Text; everybody may be told about it.")
    kind = Word(choices=KINDS, required=False, help_text="Kind of memory; `fact` by default.")
    importance = _importance()
    trust = Number(
        min_value=0, max_value=1, required=False, help_text="From 0 to 1; 0.9 by default."
    )
    tags = serializers.ListField(
        child=LineField(max_length=40),
        max_length=20,
        required=False,
        help_text="Tags that group memories.",
    )


class CorrectedMemory(StrictMapping):
    """The text of a memory."""

    text = Text(max_length=LONGEST_TEXT, help_text="Text of the memory.")


class Remembering(StrictMapping):
    """A switch: the caller is remembered, or is not."""

    is_remembered = Flag(help_text="False to remember nothing that you say or do from now on.")


class SleepLength(StrictMapping):
    """The length of a sleep."""

    hours = Number(
        min_value=0.1, max_value=24, required=False, help_text="By default as in `sleep_schedule`."
    )


class NewLore(StrictMapping):
    """A piece of lore."""

    text = Text(max_length=LONGEST_TEXT, help_text="Text, known to the `audience`.")
    keywords = serializers.ListField(
        child=LineField(max_length=40),
        max_length=20,
        required=False,
        help_text="Words that bring it up when said.",
    )
    audience = Audience(
        max_length=80,
        required=False,
        help_text="Who may know of it: `world`, a room such as `room #2`, or `faction <name>`.",
    )
    importance = _importance()


class ChangedLore(NewLore):
    """Fields of a piece of lore to change; a field that is not named stays."""

    needed = ()


class SettingChanges(Plain):
    """Settings by name, and the values they shall have."""

    described = {
        "type": "object",
        "additionalProperties": {},
        "minProperties": 1,
        "maxProperties": Plain.most,
        "description": "Settings by name; null restores the default.",
    }


class PageQuery(StrictMapping):
    """A page of a list."""

    offset = Count(required=False, help_text="Number of entries to skip.")
    limit = Count(required=False, min_value=1, help_text="Maximum number of entries.")


class Revealing(StrictMapping):
    """The option to see private words."""

    reveal = Word(
        choices=["true", "false"],
        required=False,
        help_text="Show words private to others, instead of masking them; this is recorded.",
    )


class Before(StrictMapping):
    """A page of a list that begins with the newest entry."""

    before = Count(required=False, min_value=1, help_text="Only entries older than this number.")
    limit = Count(required=False, min_value=1, help_text="Maximum number of entries.")


class HeardBefore(Before, Revealing):
    """A page of the events that were heard."""


class TracedBefore(Before, Revealing):
    """A page of the trace."""

    when = Text(
        max_length=40,
        required=False,
        help_text="A day or a time, such as 2026-11-21, yesterday or 3 hours ago.",
    )
    words = Text(max_length=100, required=False, help_text="Words that were said publicly.")


class TalkBefore(Before, Revealing):
    """A page of the conversation, or all of it."""

    format = Word(
        choices=["page", "export"],
        required=False,
        help_text="`export`: all chat messages as they are sent to the model; needs `ai_memory`.",
    )


class FactsBefore(Before):
    """A page of the audit log."""

    event = serializers.ListField(
        child=Text(max_length=100),
        max_length=20,
        required=False,
        help_text="Only events of this name; may be given several times.",
    )


class MemoriesBefore(Before, Revealing):
    """A filter for memories."""

    person = Person(max_length=40, required=False, help_text="Person, such as `account-3`.")
    kind = Word(choices=KINDS, required=False, help_text="Kind of memory.")
    text = Text(max_length=100, required=False, help_text="Text that the memories contain.")


class MemorySearch(Revealing):
    """A search text."""

    q = Text(max_length=300, help_text="Search text; memories with the same meaning are found too.")
    limit = Count(required=False, min_value=1, max_value=50, help_text="Maximum number of results.")


class OfAccount(StrictMapping):
    """A filter for what one account did."""

    account = Text(max_length=100, required=False, help_text="Name of an account.")


class Moment(StrictMapping):
    """A moment."""

    at = Text(
        max_length=40,
        required=False,
        help_text="A time such as 2026-01-31T12:00:00+00:00; by default now.",
    )


class Versions(StrictMapping):
    """Two versions."""

    a = Count(max_value=MOST_NUMBER, help_text="The earlier version.")
    b = Count(max_value=MOST_NUMBER, help_text="The later version.")


class Prompted(StrictMapping):
    """A part of a prompt."""

    show = Word(
        choices=["sizes", "messages"],
        required=False,
        help_text="The tokens of each component, or the messages themselves.",
    )
    context = Word(
        choices=[str(kind) for kind in ContextType],
        required=False,
        help_text="Context of the prompt; `tick_event` by default.",
    )
