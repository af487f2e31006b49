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
from evennia_ai.operations.assistants.lifecycle import LONGEST_DESC, MOST_ALIASES
from evennia_ai.operations.memory.rows import LONGEST_TEXT
from evennia_ai.operations.rights.tokens import SCOPE, SCOPES

ENDS = [COMPLETED, DROPPED]
KINDS = [MemoryKind.FACT.value, MemoryKind.INSIGHT.value, MemoryKind.JOURNAL.value]


class WholeAssistant(StrictMapping):
    """The whole description of an assistant."""

    desc = Text(
        max_length=LONGEST_DESC, allow_blank=True, help_text="What people see who look at it."
    )
    persona = Text(
        max_length=LONGEST_VALUE,
        allow_blank=True,
        help_text="Who it is and what it knows, for its model.",
    )
    location = Text(max_length=100, help_text="The room it stands in: its name, or like #12.")
    aliases = serializers.ListField(child=Name(), max_length=MOST_ALIASES, help_text="Other names.")


class ChangedAssistant(WholeAssistant):
    """Fields of an assistant to change; a field that is not named stays."""

    needed = ()  # the keys of the whole assistant, none of which a PATCH has to have


class NewAssistant(WholeAssistant):
    """An assistant to create."""

    needed = ("key",)

    key = Name(help_text="Its name.")
    typeclass = Text(
        max_length=LONGEST_PATH,
        help_text="The path of its body's class; without one it is the game's character class.",
    )


class Adoption(StrictMapping):
    """A being of the game that becomes an assistant."""

    npc = Text(max_length=100, help_text="Its name, or like #12.")
    key = Name(required=False, help_text="What the assistant is called; else as the being is.")


class Copy(StrictMapping):
    """The name of a copy."""

    key = Name(help_text="Its name.")


class WhyStopped(StrictMapping):
    """The reason for an act."""

    reason = Text(max_length=500, required=False, help_text="Why, for staff and for the record.")


class NewGoal(StrictMapping):
    """A goal to set."""

    text = Text(max_length=LONGEST_GOAL, help_text="What is to be reached.")
    priority = Whole(
        min_value=PRIORITIES.start,
        max_value=PRIORITIES.stop - 1,
        required=False,
        help_text="1 may wait, 10 is pressing; 5 where nothing is said.",
    )
    parent = Whole(
        min_value=1, required=False, help_text="The number of an open goal that it is a part of."
    )
    when = Text(
        max_length=LONGEST_WHEN,
        required=False,
        help_text="Its time: at 18:30, at dusk, daily at 08:00, in 2 hours, 2026-12-01 18:00.",
    )


class EndOfGoal(StrictMapping):
    """The end of a goal."""

    status = Word(choices=ENDS, help_text="Reached, or given up.")


class Instruction(StrictMapping):
    """An instruction to an assistant."""

    instruction = Text(max_length=2000, help_text="In words, as a whisper to it.")
    name = TaskName(
        required=False,
        help_text="Your own for this task, one for each: sent again, it is not done again.",
    )


class Arguments(StrictMapping):
    """Arguments of a tool."""

    arguments = Plain(required=False, help_text="As the tool's `parameters` describe them.")


class LookedAt(StrictMapping):
    """The mark of what was reviewed."""

    mark = LineField(max_length=64, help_text="As `tools/held/` shows it.")


class GivenAnswer(StrictMapping):
    """An answer to a question."""

    answer = Text(max_length=100, help_text="One of the choices, or `take` or `drop`.")


class EditNumber(StrictMapping):
    """The edit to undo; without a number the newest."""

    number = Whole(min_value=1, max_value=MOST_NUMBER, required=False, help_text="Of an edit.")


class Login(StrictMapping):
    """A name and a password."""

    username = LineField(max_length=150, help_text="The account's name.")  # Django's own limit
    # Blanks at its ends are part of a password.
    password = Text(max_length=500, trim_whitespace=False, help_text="Its password.")
    name = LineField(max_length=60, required=False, help_text="What the token is for.")
    scope = Word(choices=SCOPES, required=False, help_text=f"{SCOPE} Else `usual`.")


class WhoseTokens(StrictMapping):
    """The account whose tokens are meant."""

    account = Person(required=False, help_text="Such as `account-3`; without it your own.")


def _tags() -> serializers.ListField:
    words = LineField(max_length=40)
    help_text = "Words that group memories."
    return serializers.ListField(child=words, max_length=20, required=False, help_text=help_text)


def _importance() -> Whole:
    return Whole(min_value=1, max_value=10, required=False, help_text="1 to 10; 5 is usual.")


class NewMemory(StrictMapping):
    """Something that an assistant is to remember."""

    text = Text(max_length=LONGEST_TEXT, help_text="In words; everybody may be told of it.")
    kind = Word(choices=KINDS, required=False, help_text="`fact` where nothing is said.")
    importance = _importance()
    trust = Number(min_value=0, max_value=1, required=False, help_text="0 to 1; else 0.9.")
    tags = _tags()


class CorrectedMemory(StrictMapping):
    """The text of a memory."""

    text = Text(max_length=LONGEST_TEXT, help_text="In words.")


class Remembering(StrictMapping):
    """A switch: the caller is remembered, or is not."""

    is_remembered = Flag(help_text="false: nothing that you say or do is remembered from now on.")


class SleepLength(StrictMapping):
    """The length of a sleep."""

    hours = Number(
        min_value=0.1, max_value=24, required=False, help_text="Else as `sleep_schedule` says."
    )


def _lore(**options: object) -> Text:
    return Text(
        max_length=LONGEST_TEXT, help_text="What those know who are meant by `audience`.", **options
    )


def _keywords() -> serializers.ListField:
    words, help_text = LineField(max_length=40), "It is told where one of these is spoken of."
    return serializers.ListField(child=words, max_length=20, required=False, help_text=help_text)


def _audience() -> Audience:
    help_text = "Who may know of it: `world`, a room such as `room #2`, or `faction <name>`."
    return Audience(max_length=80, required=False, help_text=help_text)


class NewLore(StrictMapping):
    """A piece of lore."""

    text = _lore()
    keywords = _keywords()
    audience = _audience()
    importance = _importance()


class ChangedLore(StrictMapping):
    """Fields of a piece of lore to change; a field that is not named stays."""

    text = _lore(required=False)
    keywords = _keywords()
    audience = _audience()
    importance = _importance()


class SettingChanges(Plain):
    """Settings by name, and the values they shall have."""

    described = {
        "type": "object",
        "additionalProperties": {},
        "minProperties": 1,
        "maxProperties": Plain.most,
        "description": "Settings by name; null lets the default hold again.",
    }


class PageQuery(StrictMapping):
    """A page of a list."""

    offset = Count(required=False, help_text="How many entries are left out.")
    limit = Count(required=False, min_value=1, help_text="How many entries are sent at most.")


class Revealing(StrictMapping):
    """The option to see private words."""

    reveal = Word(
        choices=["true", "false"],
        required=False,
        help_text="Show what is private to others too, which is recorded; else it is masked.",
    )


class Before(StrictMapping):
    """A page of a list that begins with the newest entry."""

    before = Count(required=False, min_value=1, help_text="Only what is older than this number.")
    limit = Count(required=False, min_value=1, help_text="How many entries are sent at most.")


class HeardBefore(Before, Revealing):
    """A page of the events that were heard."""


class TracedBefore(Before, Revealing):
    """A page of the trace."""

    when = Text(
        max_length=40,
        required=False,
        help_text="A day or a time, such as 2026-11-21, yesterday or 3 hours ago.",
    )
    words = Text(max_length=100, required=False, help_text="Said or answered publicly.")


class TalkBefore(Before, Revealing):
    """A page of the conversation, or all of it."""

    format = Word(
        choices=["page", "export"],
        required=False,
        help_text="`export`: the chat messages as the model is sent them; needs `ai_memory`.",
    )


class FactsBefore(Before):
    """A page of the audit log."""

    event = serializers.ListField(
        child=Text(max_length=100),
        max_length=20,
        required=False,
        help_text="Only events of this name; may stand there several times.",
    )


class MemoriesBefore(Before, Revealing):
    """A filter for memories."""

    person = Person(max_length=40, required=False, help_text="Whose, such as `account-3`.")
    kind = Word(choices=KINDS, required=False, help_text="Of one kind.")
    text = Text(max_length=100, required=False, help_text="That have this in them.")


class MemorySearch(Revealing):
    """A search text."""

    q = Text(max_length=300, help_text="In words; what means the same is found too.")
    limit = Count(required=False, min_value=1, max_value=50, help_text="How many at most.")


class OfAccount(StrictMapping):
    """A filter for what one account did."""

    account = Text(max_length=100, required=False, help_text="The name of one account.")


class Moment(StrictMapping):
    """A moment."""

    at = Text(
        max_length=40,
        required=False,
        help_text="Such as 2026-01-31T12:00:00+00:00; without it the newest state.",
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
        help_text="The context that it is entered in; without it `tick_event`.",
    )
