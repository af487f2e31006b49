"""What each response holds, for the OpenAPI schema. Nothing is converted by these."""

from __future__ import annotations

from drf_spectacular.utils import inline_serializer
from rest_framework import serializers
from rest_framework.serializers import (
    BooleanField,
    CharField,
    DictField,
    FloatField,
    IntegerField,
    ListField,
)

from evennia_ai.api.shapes import Done, Shape, anything, mappings, maybe_count, maybe_text
from evennia_ai.core.goals import ACTIVE, COMPLETED, DROPPED
from evennia_ai.core.lockout import State

STATES = [state.value for state in State]
HEALTH = ["ok", "degraded", "stopped"]
GOAL_STATES = [ACTIVE, COMPLETED, DROPPED]


class Assistant(Shape):
    """An assistant."""

    key = CharField()
    desc = CharField()
    persona = CharField()
    location = maybe_text(help_text="The name of the room it stands in.")
    aliases = ListField(child=CharField())
    enabled = BooleanField(help_text="Whether it answers at all.")
    adopted = BooleanField(help_text="Whether its body is a being of the game.")
    created_at = anything(help_text="When it was made.")


class AssistantPage(Shape):
    """Some of the assistants, by name."""

    assistants = ListField(child=Assistant())
    count = IntegerField(help_text="How many there are in all.")
    next = maybe_count(help_text="The offset of what follows; null: nothing does.")


class Made(Done):
    """What was made."""

    key = CharField()


class Removed(Done):
    """What was removed, and where its record went."""

    archive = maybe_text(help_text="The name of the file its record was put into.")


class Stopped(Done):
    """What a stop found under way."""

    is_new = BooleanField(help_text="Whether it was not stopped before.")


class AllStopped(Done):
    """How many were stopped."""

    stopped = IntegerField()
    refused = ListField(child=CharField(), help_text="Those that you have no say over.")


class AllChanged(Done):
    """A count of those for which something changed."""

    changed = IntegerField()
    refused = ListField(child=CharField(), help_text="Those that you have no say over.")


class Status(Shape):
    """What an assistant is doing, and what it has used."""

    key = CharField()
    location = maybe_text()
    enabled = BooleanField()
    emergency_stop = BooleanField()
    state = serializers.ChoiceField(choices=STATES)
    lockout = DictField(child=anything(), allow_null=True, help_text="Why it may not act.")
    consecutive_errors = IntegerField()
    max_consecutive_errors = IntegerField()
    is_ticking = BooleanField()
    pending_events = IntegerField()
    ignored_settings = maybe_text()
    wrong_settings = maybe_text()
    unable = CharField(help_text="Why its body cannot act, or empty.")
    questions = IntegerField()
    cooling = ListField(child=CharField(), help_text="Who has to wait, and how long, in words.")
    today = CharField(help_text="Tokens used today, in words.")
    calls = IntegerField()
    tokens = IntegerField()
    brain = CharField(help_text="Its model, in words.")
    breakers = DictField(child=DictField(child=anything()))
    degraded = mappings()
    mcp = mappings()
    context_tokens = maybe_count()
    max_context_tokens = maybe_count()
    cache = DictField(child=anything())
    text = CharField(help_text="The same in a sentence.")


class SettingRow(Shape):
    """A setting."""

    name = CharField()
    value = anything(help_text="What holds; secrets are masked.")
    default = anything()
    is_default = BooleanField()
    text = CharField(help_text="What it is for.")
    type = CharField()


class Settings(Shape):
    """All settings of an assistant."""

    settings = ListField(child=SettingRow())


class Edits(Shape):
    """What people changed of an assistant."""

    edits = mappings(help_text="`number`, `at`, `by` and `changes`: `name`, `old` and `value`.")
    undone = mappings(help_text="The same of those that were taken back, the next one first.")


class Undone(Done):
    """What was taken back, or made again."""

    number = IntegerField(help_text="Of the edit.")
    changes = mappings(help_text="`name`, `old` and `value` of each, as it is now.")


class Talk(Shape):
    """Part of the talk, or all of it as chat messages."""

    messages = mappings(help_text="`number`, `role`, `name`, `text`, `private_to` and `at`.")
    count = IntegerField(required=False)
    next = maybe_count(required=False, help_text="Give it as `before` for what is older.")


class Step(Shape):
    """What happened to a message."""

    step = CharField()
    detail = CharField()


class Heard(Shape):
    """A message, and what became of it."""

    number = IntegerField()
    at = CharField()
    sender = CharField()
    source = CharField()
    place = CharField()
    text = CharField()
    rule = IntegerField(help_text="The number of the rule that decided.")
    rule_name = CharField()
    outcome = CharField()
    trust = FloatField()
    trust_because = CharField()
    steps = ListField(child=Step())


class HeardPage(Shape):
    """What an assistant heard, and what became of it."""

    waiting = mappings(help_text="What waits for an answer, the oldest first.")
    records = ListField(child=Heard())
    next = maybe_count(help_text="Give it as `before` for what is older.")


class Why(Shape):
    """Why an assistant answered one message, or did not."""

    text = CharField(help_text="For people.")
    record = DictField(child=anything())


class FactEntry(Shape):
    """One event of the record."""

    version = IntegerField()
    at = CharField()
    event = CharField()
    text = CharField()
    details = DictField(child=anything())


class FactPage(Shape):
    """Part of the record, the newest first."""

    entries = ListField(child=FactEntry())
    count = IntegerField()
    next = maybe_count(help_text="Give it as `before` for what is older.")


class PastState(Shape):
    """What an assistant was like at a version."""

    version = IntegerField()
    at = anything()
    state = DictField(child=anything())


class Change(Shape):
    """What was and what is, somewhere in the state."""

    path = CharField()
    before = anything()
    after = anything()


# `from` is a word of Python's, so this cannot be written as the others are.
DIFFERENCE = inline_serializer(
    "Difference",
    {"from": IntegerField(), "to": IntegerField(), "changes": ListField(child=Change())},
)


class Usage(Shape):
    """What was used, and of which caps."""

    totals = DictField(child=DictField(child=anything()), help_text="`today`, `month` and `ever`.")
    by_player = mappings(help_text="Parts of this month's tokens.")
    tasks = DictField(child=IntegerField())
    tools = DictField(child=DictField(child=IntegerField()))
    executions = mappings(help_text="The last tool calls, the oldest first.")
    budget = DictField(child=anything())


class QuestionChoice(Shape):
    """One answer that can be given."""

    id = CharField()
    label = CharField()
    hotkey = CharField()


class AskedQuestion(Shape):
    """An open question."""

    number = IntegerField()
    assistant = CharField()
    kind = CharField()
    prompt = CharField()
    detail = CharField()
    choices = ListField(child=QuestionChoice())
    is_stalled = BooleanField(help_text="Whoever was asked is not here.")


class Questions(Shape):
    """The open questions that you may answer."""

    questions = ListField(child=AskedQuestion())


class Breakers(Shape):
    """The services an assistant depends on, and whether they are asked."""

    breakers = mappings(help_text="`name`, `scope` (game or assistant), `state` and numbers.")


class ToolRow(Shape):
    """A tool."""

    name = CharField()
    description = CharField()
    category = CharField()
    parameters = DictField(child=anything(), help_text="A JSON schema.")
    is_allowed = BooleanField()
    needs_yes = BooleanField(help_text="Whether a person is asked before each call.")
    module = maybe_text()


class Tools(Shape):
    """The tools an assistant has."""

    tools = ListField(child=ToolRow())


class Executed(Done):
    """What came of running a tool."""

    tool = CharField()
    success = BooleanField()
    result = anything()
    duration_ms = FloatField()


class Told(Done):
    """What came of an instruction."""

    answer = anything()
    number = maybe_count()


class Prompt(Shape):
    """The next prompt."""

    text = CharField(help_text="For people.")
    tokens = DictField(child=IntegerField(), required=False, help_text="By component; -1: tools.")
    total = IntegerField(required=False)
    messages = mappings(required=False)


class Goal(Shape):
    """A goal."""

    id = IntegerField()
    text = CharField()
    priority = IntegerField()
    status = serializers.ChoiceField(choices=GOAL_STATES)
    outcome = CharField()


class Goals(Shape):
    """What an assistant is after, and how the others ended."""

    goals = ListField(child=Goal())
    closed = ListField(child=Goal())


class NewGoalDone(Done):
    """The number of a new goal."""

    id = IntegerField()


class Token(Shape):
    """A token, to be sent as `Authorization: Token <token>`."""

    token = CharField(help_text="It is told this once.")
    number = IntegerField()
    ends_at = CharField(help_text="When it is worth nothing any more.")


class KeptToken(Shape):
    """A token that is good, without the token itself."""

    number = IntegerField()
    name = CharField(help_text="What it is for.")
    begins = CharField(help_text="Its first characters.")
    made_at = CharField()
    ends_at = CharField()
    used_at = maybe_text(help_text="When it was last used, to the hour.")
    is_this = BooleanField(help_text="Whether it is the one that you sent.")


class Tokens(Shape):
    """The tokens of an account, the newest first."""

    tokens = ListField(child=KeptToken())


class Revoked(Done):
    """How many tokens are worth nothing any more."""

    count = IntegerField()


class Health(Shape):
    """Whether the assistants are well, without a name or a secret."""

    status = serializers.ChoiceField(choices=HEALTH)
    assistants = DictField(child=IntegerField(), help_text="How many by what they do.")
    waiting = IntegerField()
    questions = IntegerField()
    breakers = IntegerField(help_text="Those that are not closed.")
    database = CharField()
    model = CharField()
    reasons = ListField(child=CharField(), required=False, help_text="For staff only.")
