"""The setting of workers: processes beside the game that make vectors and ask models by night."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from evennia_ai.core.settings.model import LenientGroup, Number, Text, Whole, setting


class WorkersConfig(LenientGroup):
    """The place of work that nobody waits for."""

    NAME: ClassVar[str] = "EVENNIA_AI_WORKERS_CONFIG"

    engine: Annotated[Text, Field(pattern=r"^(procrastinate)?$")] = setting(
        "",
        "`procrastinate`: workers do embeddings and the calls of nights, over the "
        "game's PostgreSQL; empty: the game's own process does.",
        example="procrastinate",
    )
    jobs_at_once: Whole = setting(
        16, "portions of one assistant's memories that may wait for workers.", ge=1, le=100
    )
    calls_at_once: Whole = setting(
        4, "jobs that one worker does at one time, of which one may be an embedding.", ge=1, le=100
    )
    niceness: Whole = setting(10, "the niceness of a worker's process, 0 to 19.", ge=0, le=19)
    attempts: Whole = setting(
        3, "how often a job is started; one that ended this many workers is given up.", ge=1, le=10
    )
    embed_seconds: Number = setting(
        600.0, "seconds that a portion may wait for its vectors before it is queued again.", ge=10
    )
    heartbeat_seconds: Number = setting(
        10.0,
        "seconds between a worker's heartbeats; after three times as long without "
        "one, others take over its jobs.",
        ge=0.2,
        le=600,
    )
    poll_seconds: Number = setting(
        0.1, "seconds between the game's looks for results while any are due.", ge=0.01, le=10
    )
