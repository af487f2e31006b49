"""The package's own tables: calls, record, memories, cards, trace, tasks, questions, tokens, pins.

Each table has one room that fills it: `budget.ledger` totals, calls and games, `audit` the record,
`memory_store.rows` the memories, `memory` the profiles, `operations.rights.token_store` the tokens,
`agent.tracing` the trace, `tasks.store` the tasks, `tasks.peer_store` those of peers,
`tasks.remote_tasks` those that agents elsewhere were given, `approvals.store` what people are
asked, `operations.files.cards` the cards, `mcp.pin_store` the pinned tools. Whoever deletes an
assistant deletes its rows: `operations.assistants.lifecycle` and `operations.assistants.removing`.
Amounts of money are whole nano-dollars, times whole seconds since 1970 or as a column says;
counters are added to in the database, never set from memory, so that several server processes can
share them.
"""

from __future__ import annotations

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.db import connection, models

from evennia_ai.models.access_token import AccessToken as AccessToken
from evennia_ai.models.access_token import TokenScope as TokenScope
from evennia_ai.models.card_file import CardFile as CardFile
from evennia_ai.models.entity_profile import EntityProfile as EntityProfile
from evennia_ai.models.jobs import WorkerSeen as WorkerSeen
from evennia_ai.models.jobs import WorkJob as WorkJob
from evennia_ai.models.peers import PeerEvent as PeerEvent
from evennia_ai.models.peers import PeerHook as PeerHook
from evennia_ai.models.peers import PeerTask as PeerTask
from evennia_ai.models.peers import RemoteTask as RemoteTask
from evennia_ai.models.question import StoredQuestion as StoredQuestion
from evennia_ai.models.tool_pin import ToolPin as ToolPin

APP = "evennia_ai"
REMOVED = (
    "something of evennia_ai is asked for, and it is not in INSTALLED_APPS. Put it back to release "
    "(`assistant release`) whom you adopted and delete the others; or leave it out, take our "
    "command set out of the game's, and delete the scripts that are left: see 'Removing the app' "
    "in docs/extending.md. The beings themselves are as they always were."
)
# Before the first model, at which Django would raise an error that names no remedy.
if not apps.is_installed(APP):
    raise ImproperlyConfigured(REMOVED)

SHORT, LONG = 64, 255


def missing_tables(*kinds: type[models.Model]) -> list[str]:
    """The tables that the game's database does not have, by name.

    Args:
        kinds: the models whose tables are wanted; none: all of this package's.
    """
    known = kinds or tuple(apps.get_app_config(APP).get_models())
    wanted = {kind._meta.db_table for kind in known}
    return sorted(wanted - set(connection.introspection.table_names()))


class BudgetTotal(models.Model):
    """The use of one account: a scope, whose, and a period: `core.safety.budget.Total`.

    Attributes:
        game: whose account it is in a ledger that several games share; "" in a game's own, and of
            all games together.
    """

    game = models.CharField(max_length=SHORT, default="", blank=True)
    scope = models.CharField(max_length=10)
    key = models.CharField(max_length=LONG, blank=True)
    period = models.CharField(max_length=16, blank=True)
    calls = models.BigIntegerField(default=0)
    open_calls = models.BigIntegerField(default=0)
    prompt_tokens = models.BigIntegerField(default=0)
    completion_tokens = models.BigIntegerField(default=0)
    cost_nano = models.BigIntegerField(default=0)
    held_tokens = models.BigIntegerField(default=0)
    held_cost_nano = models.BigIntegerField(default=0)
    granted_tokens = models.BigIntegerField(default=0)
    granted_cost_nano = models.BigIntegerField(default=0)
    granted_calls = models.BigIntegerField(default=0)
    warned_tokens = models.BooleanField(default=False)
    warned_cost = models.BooleanField(default=False)

    class Meta:
        """One row for each account, however many server processes begin it at once."""

        constraints = [
            models.UniqueConstraint(
                fields=["game", "scope", "key", "period"], name="evennia_ai_one_total_each"
            )
        ]


class ModelCall(models.Model):
    """One model call, from the moment it is reserved.

    Its key names the server process that makes it. What is estimated stays held until it is
    closed; `due` is when it is surely over, whatever became of that process. `game` is whose it is
    in a ledger that several games share, "" in a game's own.
    """

    key = models.CharField(max_length=SHORT, primary_key=True)
    owner = models.CharField(max_length=SHORT)
    game = models.CharField(max_length=SHORT, default="", blank=True)
    at = models.BigIntegerField()
    due = models.BigIntegerField()
    assistant = models.CharField(max_length=LONG)
    person = models.CharField(max_length=LONG, blank=True)
    purpose = models.CharField(max_length=16)
    model = models.CharField(max_length=LONG)
    state = models.CharField(max_length=10)
    estimated_prompt_tokens = models.BigIntegerField()
    estimated_completion_tokens = models.BigIntegerField()
    estimated_cost_nano = models.BigIntegerField()
    prompt_tokens = models.BigIntegerField(default=0)
    completion_tokens = models.BigIntegerField(default=0)
    cost_nano = models.BigIntegerField(default=0)
    is_priced = models.BooleanField(default=True)

    class Meta:
        """Lookups: an assistant's calls of a time, and those that are still open."""

        indexes = [
            models.Index(fields=["assistant", "at"], name="evennia_ai_call_of"),
            models.Index(fields=["state", "at"], name="evennia_ai_call_state"),
        ]


class LedgerGame(models.Model):
    """A game and its name in a shared ledger; in a game's own database its identity, with no name.

    `budget.ledger.names` fills it.

    Attributes:
        game: the name; "" in a game's own database.
        identity: of the game's database: a number that no other has, unless it is a copy.
        owner: the server process that showed itself last; "" after one that ended in order.
        host: the machine of it, as it calls itself.
        seen_at: seconds since 1970 at which it did, by the ledger's clock.
    """

    game = models.CharField(max_length=SHORT, primary_key=True)
    identity = models.CharField(max_length=SHORT)
    owner = models.CharField(max_length=SHORT, blank=True)
    host = models.CharField(max_length=LONG, blank=True)
    seen_at = models.BigIntegerField(default=0)


class _Recorded(models.Model):
    """A row of a stream.

    Attributes:
        topic: which kind of event, as `audit.aggregates` names it.
        event: the name people know it by.
        at: microseconds since 1970; within a stream it never goes back.
        state: JSON in UTF-8.
    """

    id = models.BigAutoField(primary_key=True)
    originator_id = models.UUIDField()
    originator_version = models.BigIntegerField()
    topic = models.CharField(max_length=LONG)
    event = models.CharField(max_length=SHORT)
    at = models.BigIntegerField()
    state = models.BinaryField()

    class Meta:
        """The two tables below have the same columns."""

        abstract = True


class RecordedEvent(_Recorded):
    """One event of a stream, in the order in which all of them were written."""

    class Meta:
        """A version is there once; a lookup reads its index alone."""

        constraints = [
            models.UniqueConstraint(
                fields=["originator_id", "originator_version"], name="evennia_ai_one_event_each"
            )
        ]
        indexes = [
            models.Index(
                fields=["originator_id", "event", "originator_version"], name="evennia_ai_event_of"
            ),
            models.Index(
                fields=["originator_id", "at", "originator_version"], name="evennia_ai_event_at"
            ),
        ]


class RecordedSnapshot(_Recorded):
    """The state of a stream at one version, so that not all before need be read."""

    class Meta:
        """One for a version."""

        constraints = [
            models.UniqueConstraint(
                fields=["originator_id", "originator_version"], name="evennia_ai_one_snapshot_each"
            )
        ]


class Memory(models.Model):
    """One thing that an assistant remembers: `core.memory.recollection.Recollection`.

    The table is what is true; vectors only find rows by their meaning, and can be made anew from
    it.

    Attributes:
        assistant: number of its script; 0 for lore that the whole game shares.
        superseded_at: since when it holds no more, as something later says; None: it holds.
        is_consolidated: an entry of the journal from which facts were drawn.
        indexed_as: the embedding model that made its vector; "" none yet, "-" it needs none.
        is_removed: forgotten: its words are gone, a server still has to be rid of its vector.
        terms: of lore, when it is told: `core.memory.lore_terms.LoreTerms`; None: by its tags.
    """

    id = models.BigAutoField(primary_key=True)
    key = models.CharField(max_length=SHORT, unique=True)
    assistant = models.BigIntegerField(default=0)
    kind = models.CharField(max_length=16)
    text = models.TextField()
    audience = models.CharField(max_length=SHORT)
    person = models.CharField(max_length=SHORT, blank=True)
    place = models.CharField(max_length=LONG, blank=True)
    source_type = models.CharField(max_length=16)
    trust = models.FloatField()
    importance = models.SmallIntegerField()
    importance_by = models.CharField(max_length=16)
    at = models.FloatField()
    tags = models.JSONField(default=list)
    cites = models.JSONField(default=list)
    superseded_at = models.FloatField(null=True)
    is_consolidated = models.BooleanField(default=False)
    indexed_as = models.CharField(max_length=SHORT, blank=True)
    is_removed = models.BooleanField(default=False)
    terms = models.JSONField(null=True)

    class Meta:
        """Lookups of an assistant's memories, each by an index of its own.

        What came after another, of all and of an audience; by kind and age; what an audience may
        know; what a person said; what no night has sorted out yet; what leaves first; what is not
        indexed yet; and what is forgotten.
        """

        indexes = [
            models.Index(fields=["assistant", "id"], name="evennia_ai_memory_after"),
            models.Index(fields=["assistant", "audience", "id"], name="evennia_ai_memory_for"),
            models.Index(
                fields=["assistant", "kind", "at", "is_removed"],
                name="evennia_ai_memory_kept",
                condition=models.Q(is_removed=False),
            ),
            models.Index(
                fields=["assistant", "audience", "kind", "id"],
                name="evennia_ai_memory_heard",
                condition=models.Q(is_removed=False),
            ),
            models.Index(
                fields=["assistant", "person", "kind", "id"],
                name="evennia_ai_memory_said",
                condition=models.Q(is_removed=False),
            ),
            models.Index(
                fields=["assistant", "kind", "id"],
                name="evennia_ai_memory_new",
                condition=models.Q(is_removed=False, is_consolidated=False),
            ),
            models.Index(
                fields=["assistant", "kind", "importance", "at"],
                name="evennia_ai_memory_slight",
                condition=models.Q(is_removed=False, is_consolidated=False),
            ),
            models.Index(
                fields=["assistant", "kind", "importance", "at"],
                name="evennia_ai_memory_done",
                condition=models.Q(is_removed=False, is_consolidated=True),
            ),
            models.Index(fields=["assistant", "indexed_as"], name="evennia_ai_memory_index"),
            models.Index(
                fields=["assistant", "id"],
                name="evennia_ai_memory_gone",
                condition=models.Q(is_removed=True),
            ),
        ]


class MemoryVector(models.Model):
    """The vector of one memory, for the store that keeps vectors in this table.

    Attributes:
        model: the embedding model that made it, as `Memory.indexed_as`.
        vector: float16 numbers, as the machine has them.
    """

    memory = models.OneToOneField(
        Memory, primary_key=True, on_delete=models.CASCADE, related_name="embedding"
    )
    model = models.CharField(max_length=SHORT)
    vector = models.BinaryField()


class TracedMessage(models.Model):
    """One message that an assistant heard and dealt with, and how it came to its answer.

    Attributes:
        assistant: number of its script.
        number: what `assistant why` knows the message by; 0 of a turn of its own.
        at: when it was heard, in seconds since 1970.
        person: whose it is ("*#3"), "" of nobody or of somebody who was forgotten.
        name: what they were called then, before the assistant.
        words: what was said, as far as it is kept.
        answer: what was answered, as far as it is kept.
        is_private: it was said in private.
        is_answer_private: it was answered in private.
        facts: rule, model, calls and so on; `core.turn.trace` makes them.
    """

    id = models.BigAutoField(primary_key=True)
    assistant = models.BigIntegerField()
    number = models.BigIntegerField()
    at = models.FloatField()
    person = models.CharField(max_length=SHORT, blank=True)
    name = models.CharField(max_length=LONG, blank=True)
    words = models.TextField(blank=True)
    answer = models.TextField(blank=True)
    is_private = models.BooleanField(default=True)
    is_answer_private = models.BooleanField(default=True)
    facts = models.JSONField(default=dict)

    class Meta:
        """Lookups: an assistant's of a time or a number, and all that are too old."""

        indexes = [
            models.Index(fields=["assistant", "at"], name="evennia_ai_trace_at"),
            models.Index(fields=["assistant", "number"], name="evennia_ai_trace_of"),
            models.Index(fields=["at"], name="evennia_ai_trace_old"),
        ]


class PendingTask(models.Model):
    """A task that a program asked of an assistant by a name of its own, and what came of it.

    Attributes:
        id, assistant: of its event in the inbox; number of the script that does it.
        person: in whose name it was asked ("*#3"), "" for the game itself.
        name: the program's own, one for each task.
        digest: SHA-256 of the words, in hexadecimal digits.
        number: what `assistant why` knows it by.
        is_order: it was told to do something, and may act.
        ends_at: until when an answer is waited for, in seconds since 1970.
        state: open, answered or failed.
        reason, answer: why there is no answer, in one word; the report, or why there is none.
    """

    id = models.CharField(max_length=SHORT, primary_key=True)
    assistant = models.BigIntegerField()
    person = models.CharField(max_length=SHORT, blank=True)
    name = models.CharField(max_length=SHORT)
    digest = models.CharField(max_length=SHORT)
    number = models.BigIntegerField()
    is_order = models.BooleanField()
    began_at = models.FloatField()
    ends_at = models.FloatField()
    state = models.CharField(max_length=16, default="open")
    reason = models.CharField(max_length=16, blank=True)
    answer = models.TextField(blank=True)
    ended_at = models.FloatField(default=0.0)

    class Meta:
        """One name for one task; lookups of what is too old."""

        indexes = [models.Index(fields=["ends_at"], name="evennia_ai_task_ends")]
        constraints = [
            models.UniqueConstraint(
                fields=["assistant", "person", "name"], name="evennia_ai_one_task_each"
            )
        ]
