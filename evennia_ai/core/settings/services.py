"""Settings of the game alone: interfaces, ledger, audit log, trace, breaker, workers."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import Annotated, ClassVar, Self

from pydantic import BeforeValidator, Field, model_validator

from evennia_ai.core.safety.addresses import read_networks
from evennia_ai.core.settings.model import (
    NO_LIMIT,
    Amount,
    Count,
    Flag,
    LenientGroup,
    MismatchError,
    Number,
    Part,
    SettingsGroup,
    Text,
    Whole,
    Word,
    setting,
)


class Metrics(StrEnum):
    """Readers of the metrics."""

    OFF = "off"
    STAFF = "staff"
    ALL = "all"


def _as_metrics(value: object) -> object:
    """True stands for staff, and anything false for off."""
    if value is True or not value:
        return Metrics.STAFF if value else Metrics.OFF
    return value


def _networks_of(path: str) -> BeforeValidator:
    return BeforeValidator(partial(read_networks, path))


Requests = Annotated[Whole, Field(ge=1, le=1000)]
Rate = Annotated[Count, Field(le=1_000_000, json_schema_extra=NO_LIMIT)]


class ApiConfig(LenientGroup):
    """Settings of the REST API."""

    NAME: ClassVar[str] = "EVENNIA_AI_API_CONFIG"

    timeout_seconds: Number = setting(
        10.0, "seconds that a request waits for the game.", ge=0.1, le=300
    )
    long_timeout_seconds: Number = setting(
        60.0,
        "seconds that a request waits for a model or a tool (tell/, execute/, answer/, search/).",
        ge=0.1,
        le=600,
    )
    waiting_requests: Requests = setting(
        12, "maximum number of requests that wait for the game; Evennia has 20 web threads."
    )
    long_requests: Requests = setting(4, "how many of these may wait for a model or a tool.")
    reads_per_minute: Rate = setting(
        300, "reading requests per minute of one account; 0: no limit."
    )
    writes_per_minute: Rate = setting(
        60, "changing requests per minute of one account; 0: no limit."
    )
    anonymous_per_minute: Rate = setting(
        300, "anonymous requests per minute from one address; 0: no limit."
    )
    tokens_per_minute: Rate = setting(
        5,
        "attempts per minute to get a token from one address; 0: no limit. For one name "
        "ten times as many failed attempts, from addresses where its account never got "
        "a token.",
    )
    page_size: Requests = setting(25, "entries of a page by default.")
    max_page_size: Requests = setting(
        100, "maximum number of entries of a page that a request may ask for."
    )
    body_bytes: Whole = setting(100_000, "bytes of the longest body.", ge=1000, le=2_000_000)
    body_depth: Whole = setting(12, "depth of nested lists and mappings in a body.", ge=2, le=50)
    metrics: Annotated[Metrics, BeforeValidator(_as_metrics)] = setting(
        Metrics.OFF, "who may read metrics/: off, staff or all."
    )
    token_days: Count = setting(
        90,
        "days for which a token is valid; 0: the game issues no tokens.",
        note="0 for no tokens at all",
        le=3650,
    )
    keeps_old_tokens: Flag = setting(
        False, "whether tokens of Django REST framework stay in its table too, for other APIs."
    )
    trusted_proxies: Annotated[
        tuple[Text, ...], _networks_of("EVENNIA_AI_API_CONFIG.trusted_proxies")
    ] = setting((), "addresses and networks of proxies whose X-Forwarded-For is trusted.")

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if self.page_size > self.max_page_size:
            wanted = f"at most max_page_size, which is {self.max_page_size}"
            raise MismatchError("page_size", self.page_size, wanted)
        return self


NAME = ApiConfig.NAME


def _as_path(value: object) -> object:
    """A URL path in Django's form: without a leading slash, with a trailing one."""
    return f"{value.strip('/')}/" if isinstance(value, str) and value.strip("/") else value


class WebConfig(LenientGroup):
    """Settings of the workbench, the pages for staff on the game's web site."""

    NAME: ClassVar[str] = "EVENNIA_AI_WEB_CONFIG"

    enabled: Flag = setting(True, "whether the workbench is on.")
    path: Annotated[
        Text, BeforeValidator(_as_path), Field(pattern=r"^[a-z0-9_-]+(/[a-z0-9_-]+)*/$")
    ] = setting("ai/", "its path below the game's web address.")
    recorded_turns: Count = setting(
        50,
        "number of turns of each assistant kept in memory, with everything its model "
        "was sent; at most 1,000.",
        le=1000,
        note="0 for none",
    )
    recorded_characters: Count = setting(
        200_000, "characters kept of each turn; at most 10,000,000.", le=10_000_000
    )


class OtelConfig(LenientGroup):
    """Settings of the export of finished turns by OpenTelemetry."""

    NAME: ClassVar[str] = "EVENNIA_AI_OTEL_CONFIG"

    endpoint: Annotated[Text, Field(pattern=r"^(https?://[^\s/]\S*)?$")] = setting(
        "",
        "address to send turns to, by OTLP over HTTP; without a path, /v1/traces is "
        "added; empty: none.",
        example="http://localhost:6006",
    )
    words: Flag = setting(False, "whether the words of public turns are sent too.")
    private_words: Flag = setting(
        False,
        "whether the words of private turns are sent too; never those of people about "
        "whom nothing may be stored.",
    )
    timeout_seconds: Number = setting(10.0, "seconds that one request may take.", ge=0.1, le=60)


class ListenConfig(LenientGroup):
    """Settings that the MCP server and the A2A server have in common."""

    port: Annotated[Count, Field(le=65_535)] = setting(
        0, "the port it listens on; 0: no server.", note="0 for no server"
    )
    host: Text = setting(
        "127.0.0.1", "the address it listens on; the default is reachable from this machine only."
    )
    allowed_origins: tuple[Text, ...] = setting(
        (), "origins of web pages that may call it, such as `https://game.example`; empty: none."
    )


class McpServerConfig(ListenConfig):
    """Settings of the MCP server, through which an owner's coding assistant operates the game."""

    NAME: ClassVar[str] = "EVENNIA_AI_MCP_SERVER_CONFIG"

    allowed_hosts: tuple[Text, ...] = setting(
        (),
        "host names under which it may be called, besides those of this machine, such "
        "as `game.example:*`.",
    )


class A2aConfig(ListenConfig):
    """Settings of the A2A server, through which remote agents give tasks to assistants."""

    NAME: ClassVar[str] = "EVENNIA_AI_A2A_CONFIG"

    address: Text = setting(
        "", "public address in cards, if it differs, such as `https://game.example`."
    )
    allowed_hosts: tuple[Text, ...] = setting(
        (),
        "host names under which it may be called, besides those of this machine, such "
        "as `game.example`.",
    )
    assistants: tuple[Text, ...] = setting(
        (),
        "names of assistants with a card; `*`: all. An assistant whose body has a lock "
        "`peer` has a card too; the lock decides who may ask it.",
    )
    task_seconds: Amount = setting(
        3600.0, "seconds that a task may take, including questions, 1 to 86,400.", ge=1, le=86_400
    )
    tasks_per_peer: Count = setting(4, "concurrent tasks of one account; 0: no limit.")
    peer_tokens_per_day: Count = setting(
        0,
        "tokens per day after which an account can give no more tasks, whatever used "
        "them; 0: only the caps of `EVENNIA_AI_BUDGET_CONFIG` apply.",
    )
    tasks_at_once: Count = setting(50, "concurrent tasks of all accounts; 0: no limit.")
    streams_per_peer: Requests = setting(250, "concurrent streams of one account.")
    streams_at_once: Requests = setting(500, "concurrent streams of all accounts.")
    hooks_per_task: Requests = setting(5, "maximum number of webhooks of one task.")
    body_bytes: Whole = setting(100_000, "bytes of the longest request.", ge=1000, le=2_000_000)
    kept_days: Amount = setting(7.0, "days for which a finished task is kept.", ge=0.01)
    hook_seconds: Amount = setting(
        10.0, "seconds that a webhook may take to answer.", ge=0.1, le=60
    )
    hook_tries: Requests = setting(
        8, "attempts to deliver one event, after 1, 2, 4 seconds and so on."
    )
    hook_pause_seconds: Amount = setting(
        60.0, "seconds for which a host that failed three times in a row is not called.", ge=0.1
    )
    hook_networks: Annotated[
        tuple[Text, ...], _networks_of("EVENNIA_AI_A2A_CONFIG.hook_networks")
    ] = setting(
        (), "private networks to which webhooks may point, such as `10.0.0.0/8`; empty: none."
    )


class LedgerConfig(LenientGroup):
    """Settings of the ledger's location: the game's own database, or one shared by games."""

    NAME: ClassVar[str] = "EVENNIA_AI_LEDGER_CONFIG"

    database: Word = setting(
        "default", "name in DATABASES of the ledger's database; default: the game's own."
    )
    game: Annotated[Text, Field(max_length=64)] = setting(
        "", "name of this game in a shared ledger.", example="lantern"
    )
    reserve_tokens: Count = setting(
        0,
        "tokens per day set aside for calls while a shared ledger is unavailable.",
        note="0 to make no call then",
        le=10**12,
    )
    reserve_dollars: Amount = setting(
        0.0, "US dollars per day set aside for the same; calls that would cost more are not made."
    )
    retry_seconds: Amount = setting(
        5.0, "seconds for which a shared ledger that did not answer is not asked again.", le=3600
    )

    @property
    def is_shared(self) -> bool:
        """True if the ledger is not in the game's own database."""
        return self.database != OWN_DATABASE

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if self.is_shared and not self.game.strip():
            raise MismatchError("game", self.game, "a name that no other game has there")
        if self.reserve_dollars and not self.reserve_tokens:
            wanted = "0 where reserve_tokens is 0: the dollars are those of its tokens"
            raise MismatchError("reserve_dollars", self.reserve_dollars, wanted)
        if self.reserve_tokens and not self.is_shared:
            wanted = "0 where the ledger is in the game's own database, which is never away alone"
            raise MismatchError("reserve_tokens", self.reserve_tokens, wanted)
        return self


# Django's name for the game's own database.
OWN_DATABASE = "default"


class AuditConfig(LenientGroup):
    """Settings of the retention of audit events, and of their archives."""

    NAME: ClassVar[str] = "EVENNIA_AI_AUDIT_CONFIG"

    keep_days: Amount = setting(
        90.0, "days after which events are moved into an archive; 0: for ever.", note="0 for ever"
    )
    keep_events: Count = setting(
        100_000, "events of one assistant that stay in the database; 0: no limit.", note="0 for all"
    )
    archive_folder: Word = setting(
        "server/ai_archive",
        "the folder for archives, below the game's folder.",
        example="server/ai_archive",
    )
    keep_archives: Count = setting(
        0,
        "number of archives kept for each assistant; older ones are deleted; 0: all are kept.",
        note="0 for all",
    )


class TraceConfig(SettingsGroup):
    """Settings of the retention of traces, and of the words in them."""

    NAME: ClassVar[str] = "EVENNIA_AI_TRACE_CONFIG"

    keep_days: Amount = setting(
        7.0, "days for which a trace is kept; 0: none is stored.", note="0 for no trace"
    )
    keep_messages: Whole = setting(
        5_000,
        "number of messages kept for each assistant, 100 to 1,000,000; the oldest are deleted.",
        ge=100,
        le=1_000_000,
    )
    private_words: Flag = setting(False, "whether private words are stored too.")


Some = Annotated[Whole, Field(ge=1)]
Seconds = Annotated[Number, Field(gt=0)]


class BreakerConfig(LenientGroup):
    """Settings of the circuit breaker for a model's service, and of retries."""

    NAME: ClassVar[str] = "EVENNIA_AI_BREAKER_CONFIG"

    attempts: Some = setting(
        2,
        "attempts for one call; only the result of the last one counts. After a 429 "
        "with `Retry-After` the client waits if the deadline allows; that is not "
        "counted as an attempt.",
    )
    failure_threshold: Some = setting(
        5, "failed calls within the window that open the breaker, if the next two keys allow it."
    )
    failure_rate: Part = setting(
        0.5, "minimum share of failed calls within the window, 0 to 1; 0: any.", note="0 for any"
    )
    least_calls: Some = setting(
        10, "minimum number of calls within the window for the share to count."
    )
    window_seconds: Seconds = setting(120.0, "length of the window in seconds.")
    timeout_seconds: Seconds = setting(
        60.0, "seconds for which the breaker stays open before a call tries the service again."
    )
    success_threshold: Some = setting(1, "successful calls in a row that close the breaker again.")
    max_probes: Some = setting(
        1, "concurrent calls that may try a service whose breaker is half open."
    )


class WorkersConfig(LenientGroup):
    """Settings of background work: in the game's process, or in workers."""

    NAME: ClassVar[str] = "EVENNIA_AI_WORKERS_CONFIG"

    engine: Annotated[Text, Field(pattern=r"^(procrastinate)?$")] = setting(
        "",
        "`procrastinate`: workers compute embeddings and make the model calls of "
        "nights, through the game's PostgreSQL; empty: the game's own process does.",
        example="procrastinate",
    )
    jobs_at_once: Whole = setting(
        16, "batches of one assistant's memories that may wait for workers.", ge=1, le=100
    )
    calls_at_once: Whole = setting(
        4, "concurrent jobs of one worker, of which one may be an embedding.", ge=1, le=100
    )
    niceness: Whole = setting(10, "niceness of a worker's process, 0 to 19.", ge=0, le=19)
    attempts: Whole = setting(
        3, "starts of a job; one that crashed this many workers is abandoned.", ge=1, le=10
    )
    embed_seconds: Number = setting(
        600.0, "seconds that a batch may wait for its vectors before it is queued again.", ge=10
    )
    heartbeat_seconds: Number = setting(
        10.0,
        "seconds between a worker's heartbeats; after three times as long without "
        "one, others take over its jobs.",
        ge=0.2,
        le=600,
    )
    poll_seconds: Number = setting(
        0.1, "seconds between checks for results while any are due.", ge=0.01, le=10
    )
