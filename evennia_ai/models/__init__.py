"""The package's database tables.

Each table is written by one module or package: totals, calls and games by `budget.ledger`, the
audit log by `audit`, memories by `memory_store.rows`, profiles by `memory`, tokens by
`operations.rights.token_store`, traces by `agent.tracing`, tasks by `tasks.store`, those of peers
by `tasks.peer_store`, those of remote agents by `tasks.remote_tasks`, questions to people by
`approvals.store`, cards by `operations.files.cards`, and pinned tools by `mcp.pin_store`. The code
that deletes an assistant also deletes its rows: `operations.assistants.lifecycle` and
`operations.assistants.removing`.

Money is in whole nano-dollars, and times are whole seconds since 1970 unless a column says
otherwise. Counters are incremented in the database and never set from memory, so that several
server processes can share them.
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
    "the game uses evennia_ai, but it is not in INSTALLED_APPS. If you are installing it, add it "
    "there (server/conf/settings.py), run `evennia migrate` and `evennia reload`. If you removed "
    "it, put it back to release "
    "(`assistant release`) the characters you adopted and to delete the other assistants; or leave "
    "it out, remove our command set from the game's, and delete the scripts that are left: see "
    "'Removing the app' in docs/extending.md. The characters themselves are unchanged."
)
# Before the first model class, for which Django would raise an error that names no remedy.
if not apps.is_installed(APP):
    raise ImproperlyConfigured(REMOVED)

# Lengths of text columns, in characters.
SHORT, LONG = 64, 255


def missing_tables(*kinds: type[models.Model]) -> list[str]:
    """The names of the tables that are missing in the game's database.

    Args:
        kinds: the models to check; none: all of this package.
    """
    known = kinds or tuple(apps.get_app_config(APP).get_models())
    wanted = {kind._meta.db_table for kind in known}
    return sorted(wanted - set(connection.introspection.table_names()))


class BudgetTotal(models.Model):
    """The totals of one budget account, by scope, key and period: `core.safety.budget.Total`.

    Attributes:
        game: the game's name in a shared ledger; "" in a game's own, and for all games together.
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
        """One row per account, even if several processes create it at once."""

        constraints = [
            models.UniqueConstraint(
                fields=["game", "scope", "key", "period"], name="evennia_ai_one_total_each"
            )
        ]


class ModelCall(models.Model):
    """One model call, from its reservation on. The estimate stays held until the call is closed.

    Attributes:
        key: contains the id of the server process.
        owner: id of the server process that makes the call.
        game: the game's name in a shared ledger; "" in a game's own.
        due: time at which the call is certainly over, even if its process was killed.
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
        """Indexes for an assistant's calls by time, and for open calls."""

        indexes = [
            models.Index(fields=["assistant", "at"], name="evennia_ai_call_of"),
            models.Index(fields=["state", "at"], name="evennia_ai_call_state"),
        ]


class LedgerGame(models.Model):
    """A game that uses a shared ledger; in the game's own database, one row with its identity.

    `budget.ledger.names` fills it.

    Attributes:
        game: the game's name; "" in its own database.
        identity: a random number of the game's database, which only a copy of it shares.
        owner: id of the server process last seen; "" after a regular shutdown.
        host: that process's host name.
        seen_at: when it was last seen, in seconds since 1970 by the ledger's clock.
    """

    game = models.CharField(max_length=SHORT, primary_key=True)
    identity = models.CharField(max_length=SHORT)
    owner = models.CharField(max_length=SHORT, blank=True)
    host = models.CharField(max_length=LONG, blank=True)
    seen_at = models.BigIntegerField(default=0)


class _Recorded(models.Model):
    """A row of an event stream.

    Attributes:
        topic: the kind of event as `audit.aggregates` names it.
        event: the event's name for people.
        at: microseconds since 1970; never decreases within a stream.
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
        """The base of two tables with the same columns."""

        abstract = True


class RecordedEvent(_Recorded):
    """One event of a stream; ids are in the order of insertion over all streams."""

    class Meta:
        """Each version exists once; indexes cover lookups by name and by time."""

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
    """The state of a stream at one version, so that earlier events need not be read."""

    class Meta:
        """One snapshot per version."""

        constraints = [
            models.UniqueConstraint(
                fields=["originator_id", "originator_version"], name="evennia_ai_one_snapshot_each"
            )
        ]


class Memory(models.Model):
    """One memory of an assistant: `core.memory.recollection.Recollection`.

    This table is the source of truth. Vectors only index it and can be rebuilt from it.

    Attributes:
        assistant: id of its script; 0 for lore that the whole game shares.
        superseded_at: when a later memory replaced it; None: it is current.
        is_consolidated: True for a journal entry from which facts were already derived.
        indexed_as: the embedding model of its vector; "" none yet, "-" it needs none.
        is_removed: True if forgotten: its text is gone, but a vector server may still have its
            vector.
        terms: conditions under which lore is told, `core.memory.lore_terms.LoreTerms`; None: its
            tags decide.
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
        """One index for each lookup of an assistant's memories.

        In order: newer than another one, of all and for an audience; by kind and age; readable by
        an audience; by person; not consolidated; first to be pruned, among those not consolidated
        and those that are; by embedding model; and forgotten.
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
    """The vector of one memory, for the back end that keeps vectors in the game's database.

    Attributes:
        model: the embedding model, as in `Memory.indexed_as`.
        vector: float16 numbers in the machine's byte order.
    """

    memory = models.OneToOneField(
        Memory, primary_key=True, on_delete=models.CASCADE, related_name="embedding"
    )
    model = models.CharField(max_length=SHORT)
    vector = models.BinaryField()


class TracedMessage(models.Model):
    """The trace of one message that an assistant handled, and of its answer.

    Attributes:
        assistant: id of its script.
        number: the message's number in `assistant why`; 0 for a turn without a message.
        at: when it was heard, in seconds since 1970.
        person: id of the speaker ("*#3"); "" for nobody, or for a person who was forgotten.
        name: the speaker's name as the assistant knew it then.
        words: the message, as far as it may be kept.
        answer: the answer, as far as it may be kept.
        is_private: True if the message was private.
        is_answer_private: True if the answer was private.
        facts: rule, model, calls and so on, as `core.turn.trace` makes them.
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
        """Indexes by assistant and time, by assistant and number, and by age."""

        indexes = [
            models.Index(fields=["assistant", "at"], name="evennia_ai_trace_at"),
            models.Index(fields=["assistant", "number"], name="evennia_ai_trace_of"),
            models.Index(fields=["at"], name="evennia_ai_trace_old"),
        ]


class PendingTask(models.Model):
    """A task that a program gave an assistant, and its result.

    Attributes:
        id: of its event in the inbox.
        assistant: id of the script that does it.
        person: id of the person in whose name it was given ("*#3"); "" for the game itself.
        name: the program's own unique name for it, which makes a repeated request harmless.
        digest: SHA-256 of its text, in hexadecimal digits.
        number: its number in `assistant why`.
        is_order: True if the assistant may act in the world for it.
        ends_at: deadline of the answer, in seconds since 1970.
        state: open, answered or failed.
        reason: one word on why it failed.
        answer: the report, or a sentence on why there is none.
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
        """One task per name; an index by deadline."""

        indexes = [models.Index(fields=["ends_at"], name="evennia_ai_task_ends")]
        constraints = [
            models.UniqueConstraint(
                fields=["assistant", "person", "name"], name="evennia_ai_one_task_each"
            )
        ]
