"""Settings of memory and sleep: what is stored, what is recalled, and the nights."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from evennia_ai.core.settings.model import Flag, Number, Part, SettingsGroup, Whole, Word, setting

Weight = Annotated[Number, Field(ge=0, le=100)]


class MemoryConfig(SettingsGroup):
    """Limits and weights of memory."""

    NAME: ClassVar[str] = "memory_config"
    GAME_NAME: ClassVar[str] = "EVENNIA_AI_MEMORY_CONFIG"

    enabled: Flag = setting(True, "whether it remembers anything beyond its conversation.")
    recall_limit: Whole = setting(
        12, "maximum number of memories in the prompt of a turn.", ge=1, le=50
    )
    min_similarity: Part | None = setting(
        None,
        "how similar a memory must be to what was said, in meaning and words "
        "together, 0 to 1; None: the value measured for the embedding model.",
    )
    min_source_trust: Part = setting(
        0.55, "trust, 0 to 1, below which memories are told as hearsay."
    )
    rumour_trust: Part = setting(0.25, "trust, 0 to 1, below which memories are not told at all.")
    similarity_weight: Weight = setting(1.0, "weight of similarity in the ranking of memories.")
    recency_weight: Weight = setting(0.05, "weight of recency in the ranking.")
    importance_weight: Weight = setting(0.0, "weight of importance in the ranking.")
    recency_half_life_days: Number = setting(
        3.0, "days after which a memory counts half as recent.", ge=0.01, le=100_000
    )
    journal_entries: Whole = setting(
        1_000,
        "journal entries that are kept word for word; beyond that, entries from which "
        "facts were derived are dropped, the least important first.",
        ge=10,
        le=10_000,
    )
    journal_days: Whole = setting(
        30,
        "days after which an unimportant entry is dropped, unless facts were derived from it.",
        ge=1,
        le=100_000,
    )
    max_memories: Whole = setting(
        10_000,
        "maximum number of memories of one assistant; beyond that, the least important "
        "of the oldest are dropped first.",
        ge=100,
        le=1_000_000,
    )
    retention_days: Whole = setting(
        0, "days after which everything is forgotten; 0: never.", ge=0, le=100_000
    )
    never_rooms: tuple[Word, ...] = setting(
        (), 'rooms ("#2", or a tag) in which nothing is remembered.', example="['#2']"
    )
    never_characters: tuple[Word, ...] = setting(
        (),
        'characters or players ("#12", "*#3") about whom nothing is remembered.',
        example="['#12']",
    )
    faction_category: Word = setting(
        "faction", "category of the tags that name a character's faction."
    )
    reflection_threshold: Whole = setting(
        150, "total importance of new memories before it reflects.", ge=1, le=1_000_000
    )
    reflection_questions: Whole = setting(
        3, "number of questions it asks itself in a reflection.", ge=1, le=10
    )
    reflection_evidence: Whole = setting(
        10, "number of memories it reads for each question.", ge=1, le=50
    )
    awake_calls_per_day: Whole = setting(
        4,
        "model calls per day to derive facts from its journal while awake, in a pause; "
        "0: none. An assistant with a sleep schedule does this at night.",
        ge=0,
        le=100,
    )
    awake_reflections_per_day: Whole = setting(
        2,
        "maximum number of reflections per day while awake, in a pause; 0: only at "
        "night. An assistant with a sleep schedule reflects by day only with "
        "`reflection_interval`.",
        ge=0,
        le=100,
    )


class SleepSchedule(SettingsGroup):
    """The nights of an assistant."""

    NAME: ClassVar[str] = "sleep_schedule"

    enabled: Flag = setting(False, "whether it goes to sleep by itself at `sleep_start_hour`.")
    sleep_start_hour: Whole = setting(
        2, "hour from 0 to 23, in the game's time zone (the setting TIME_ZONE).", ge=0, le=23
    )
    sleep_duration_hours: Number = setting(4, "hours of sleep.", ge=0.1, le=23)
    tick_rate_sleep: Number = setting(60, "seconds between beats while it sleeps.", ge=1, le=3600)
    token_budget: Whole = setting(
        50_000,
        "tokens that the model calls of one night may use; 0: no calls while asleep.",
        ge=0,
        le=1_000_000_000,
    )
    min_awake_minutes: Number = setting(
        30, "minutes it must have been awake before it may go to sleep by itself.", ge=0, le=100_000
    )
    min_activity: Whole = setting(
        5,
        "tool calls it must have made since it woke before it may go to sleep by itself.",
        ge=0,
        le=100_000,
    )
