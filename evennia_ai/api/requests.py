"""Serializers of request bodies and query strings.

Their docstrings and help texts are part of the OpenAPI schema.
"""

from __future__ import annotations

from evennia_ai.api.fields import (
    MOST_NUMBER,
    Audience,
    Count,
    Flag,
    LineField,
    Many,
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
from evennia_ai.core.settings.budget import CAPS
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

    needed: tuple[str, ...] | None = ("desc", "persona", "location", "aliases")

    desc = Text("What people see when they look at it.", max_length=LONGEST_DESC, allow_blank=True)
    persona = Text(
        "Who it is and what it knows, as told to its model.",
        max_length=LONGEST_VALUE,
        allow_blank=True,
    )
    location = Text("Room it stands in: a name, or a number such as #12.", max_length=100)
    aliases = Many("Other names.", child=Name(), max_length=MOST_ALIASES)


class ChangedAssistant(WholeAssistant):
    """Fields of an assistant to change; a field that is not named stays."""

    needed = ()  # the keys of the whole assistant, none of which a PATCH has to have


class NewAssistant(WholeAssistant):
    """An assistant to create."""

    needed = ("key",)

    key = Name("Name of the assistant.")
    typeclass = Text(
        "Path of its body's typeclass; by default the game's character typeclass.",
        max_length=LONGEST_PATH,
    )


class Adoption(StrictMapping):
    """A being of the game that becomes an assistant."""

    npc = Text("Name of the object, or its number such as #12.", max_length=100, required=True)
    key = Name("Name of the assistant; by default the object's name.")


class Copy(StrictMapping):
    """The name of a copy."""

    key = Name("Name of the assistant.", required=True)


class WhyStopped(StrictMapping):
    """The reason for an act."""

    reason = Text("Reason, for staff and the audit log.", max_length=500)


class RaisedCap(StrictMapping):
    """A cap, and how much is added to it until its period ends."""

    cap = Word("The cap.", choices=list(CAPS), required=True)
    amount = Number(
        "Tokens, US dollars or model calls to add; 0 takes back all that was added in this period.",
        min_value=0,
        max_value=1e15,
        required=True,
    )


class RaisedCapOfGame(RaisedCap):
    """A cap of the game or of the test bench, and how much is added to it."""

    is_bench = Flag("True: the cap of the test bench.", default=False)


class NewGoal(StrictMapping):
    """A goal to set."""

    text = Text("The goal in words.", max_length=LONGEST_GOAL, required=True)
    priority = Whole(
        "Priority from 1 (can wait) to 10 (urgent); 5 by default.",
        min_value=PRIORITIES.start,
        max_value=PRIORITIES.stop - 1,
    )
    parent = Whole("Number of the open goal that it is part of.", min_value=1)
    when = Text(
        "Time: at 18:30, at dusk, daily at 08:00, in 2 hours, 2026-12-01 18:00.",
        max_length=LONGEST_WHEN,
    )


class EndOfGoal(StrictMapping):
    """The end of a goal."""

    status = Word("`completed` or `dropped`.", choices=ENDS, required=True)


class Instruction(StrictMapping):
    """An instruction to an assistant."""

    instruction = Text("The instruction in words, like a whisper to it.", required=True)
    name = TaskName("Your own unique name for this task: sent again, it is not done again.")


class Arguments(StrictMapping):
    """Arguments of a tool."""

    arguments = Plain("As described by the tool's `parameters`.")


class LookedAt(StrictMapping):
    """The mark of what was reviewed."""

    mark = LineField("Mark, as `tools/held/` shows it.", max_length=64, required=True)


class GivenAnswer(StrictMapping):
    """An answer to a question."""

    answer = Text("One of the choices, or `take` or `drop`.", max_length=100, required=True)


class EditNumber(StrictMapping):
    """The edit to undo; without a number the newest."""

    number = Whole("Number of the edit.", min_value=1, max_value=MOST_NUMBER)


class Login(StrictMapping):
    """A name and a password."""

    # Django's own limit.
    username = LineField("Name of the account.", max_length=150, required=True)
    # Blanks at its ends are part of a password.
    password = Text(
        "Password of the account.", max_length=500, trim_whitespace=False, required=True
    )
    name = LineField("Purpose of the token.", max_length=60)
    scope = Word(f"{SCOPE} Else `usual`.", choices=SCOPES)


class WhoseTokens(StrictMapping):
    """The account whose tokens are meant."""

    account = Person("Account such as `account-3`; by default your own.")


def _importance() -> Whole:
    return Whole("From 1 to 10; 5 is usual.", min_value=1, max_value=10)


class NewMemory(StrictMapping):
    """Something that an assistant is to remember."""

    text = Text("Text; everybody may be told about it.", max_length=LONGEST_TEXT, required=True)
    kind = Word("Kind of memory; `fact` by default.", choices=KINDS)
    importance = _importance()
    trust = Number("From 0 to 1; 0.9 by default.", min_value=0, max_value=1)
    tags = Many("Tags that group memories.", child=LineField(max_length=40), max_length=20)


class CorrectedMemory(StrictMapping):
    """The text of a memory."""

    text = Text("Text of the memory.", max_length=LONGEST_TEXT, required=True)


class Remembering(StrictMapping):
    """A switch: the caller is remembered, or is not."""

    is_remembered = Flag("False to remember nothing that you say or do from now on.", required=True)


class SleepLength(StrictMapping):
    """The length of a sleep."""

    hours = Number("By default as in `sleep_schedule`.", min_value=0.1, max_value=24)


class NewLore(StrictMapping):
    """A piece of lore."""

    text = Text("Text, known to the `audience`.", max_length=LONGEST_TEXT, required=True)
    keywords = Many(
        "Words that bring it up when said.", child=LineField(max_length=40), max_length=20
    )
    audience = Audience(
        "Who may know of it: `world`, a room such as `room #2`, or `faction <name>`.", max_length=80
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

    offset = Count("Number of entries to skip.")
    limit = Count("Maximum number of entries.", min_value=1)


class Revealing(StrictMapping):
    """The option to see private words."""

    reveal = Word(
        "Show words private to others, instead of masking them; this is recorded.",
        choices=["true", "false"],
    )


class Before(StrictMapping):
    """A page of a list that begins with the newest entry."""

    before = Count("Only entries older than this number.", min_value=1)
    limit = Count("Maximum number of entries.", min_value=1)


class HeardBefore(Before, Revealing):
    """A page of the events that were heard."""


class TracedBefore(Before, Revealing):
    """A page of the trace."""

    when = Text("A day or a time, such as 2026-11-21, yesterday or 3 hours ago.", max_length=40)
    words = Text("Words that were said publicly.", max_length=100)


class TalkBefore(Before, Revealing):
    """A page of the conversation, or all of it."""

    format = Word(
        "`export`: all chat messages as they are sent to the model; needs `ai_memory`.",
        choices=["page", "export"],
    )


class FactsBefore(Before):
    """A page of the audit log."""

    event = Many(
        "Only events of this name; may be given several times.",
        child=Text(max_length=100),
        max_length=20,
    )


class MemoriesBefore(Before, Revealing):
    """A filter for memories."""

    person = Person("Person, such as `account-3`.", max_length=40)
    kind = Word("Kind of memory.", choices=KINDS)
    text = Text("Text that the memories contain.", max_length=100)


class MemorySearch(Revealing):
    """A search text."""

    q = Text(
        "Search text; memories with the same meaning are found too.", max_length=300, required=True
    )
    limit = Count("Maximum number of results.", min_value=1, max_value=50)


class OfAccount(StrictMapping):
    """A filter for what one account did."""

    account = Text("Name of an account.", max_length=100)


class Moment(StrictMapping):
    """A moment."""

    at = Text("A time such as 2026-01-31T12:00:00+00:00; by default now.", max_length=40)


class Versions(StrictMapping):
    """Two versions."""

    a = Count("The earlier version.", required=True)
    b = Count("The later version.", required=True)


class Prompted(StrictMapping):
    """A part of a prompt."""

    show = Word(
        "The tokens of each component, or the messages themselves.", choices=["sizes", "messages"]
    )
    context = Word(
        "Context of the prompt; `tick_event` by default.",
        choices=[str(kind) for kind in ContextType],
    )
