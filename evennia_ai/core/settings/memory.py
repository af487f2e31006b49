"""The settings of memory and of sleep: what is kept, what of it is told, and the nights."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from evennia_ai.core.settings.model import Flag, Number, Part, SettingsGroup, Whole, Word, setting

Weight = Annotated[Number, Field(ge=0, le=100)]


class MemoryConfig(SettingsGroup):
    """Limits and weights of memory. Units in names."""

    NAME: ClassVar[str] = "memory_config"
    GAME_NAME: ClassVar[str] = "EVENNIA_AI_MEMORY_CONFIG"

    enabled: Flag = setting(True, "whether it remembers anything beyond its conversation.")
    recall_limit: Whole = setting(12, "memories told in a turn, at most.", ge=1, le=50)
    min_similarity: Part | None = setting(
        None,
        "how alike to what was said, in meaning and words together, a memory must be, 0 to 1; "
        "None: what the embedding model was measured to need.",
    )
    min_source_trust: Part = setting(0.55, "what is believed less is told as hearsay, 0 to 1.")
    rumour_trust: Part = setting(0.25, "what is believed less is not told at all, 0 to 1.")
    similarity_weight: Weight = setting(1.0, "how much likeness counts in the choice.")
    recency_weight: Weight = setting(0.05, "how much it counts that a memory is new.")
    importance_weight: Weight = setting(0.0, "how much it counts that a memory is important.")
    recency_half_life_days: Number = setting(
        3.0, "after so many days a memory counts half as recent.", ge=0.01, le=100_000
    )
    journal_entries: Whole = setting(
        1_000,
        "entries of the journal that are kept as they were written; of more, those that facts were "
        "drawn from leave, the least important of them first.",
        ge=10,
        le=10_000,
    )
    journal_days: Whole = setting(
        30,
        "an unimportant entry older than this is let go, unless facts were drawn from it.",
        ge=1,
        le=100_000,
    )
    max_memories: Whole = setting(
        10_000,
        "of one assistant; the least important of the oldest leave first.",
        ge=100,
        le=1_000_000,
    )
    retention_days: Whole = setting(
        0, "whatever is older is forgotten; 0: nothing is.", ge=0, le=100_000
    )
    never_rooms: tuple[Word, ...] = setting(
        (), 'rooms ("#2", or a tag) in which nothing is remembered.', example="['#2']"
    )
    never_characters: tuple[Word, ...] = setting(
        (), 'characters or players ("#12", "*#3") of whom nothing is remembered.', example="['#12']"
    )
    faction_category: Word = setting(
        "faction", "category of the tags that say which faction somebody belongs to."
    )
    reflection_threshold: Whole = setting(
        150,
        "importance that has to come together before it thinks things over.",
        ge=1,
        le=1_000_000,
    )
    reflection_questions: Whole = setting(3, "questions that it asks itself then.", ge=1, le=10)
    reflection_evidence: Whole = setting(
        10, "memories that it reads for each of these questions.", ge=1, le=50
    )
    awake_calls_per_day: Whole = setting(
        4,
        "model calls a day by which it draws facts from its journal while awake, in a pause; 0: "
        "none. One that sleeps by its schedule does that at night.",
        ge=0,
        le=100,
    )
    awake_reflections_per_day: Whole = setting(
        2,
        "times a day at most that it thinks things over while awake, in a quiet moment; 0: only at "
        "night. One that sleeps by its schedule does it by day only with `reflection_interval`.",
        ge=0,
        le=100,
    )


class SleepSchedule(SettingsGroup):
    """The nights of an assistant. Units in names."""

    NAME: ClassVar[str] = "sleep_schedule"

    enabled: Flag = setting(False, "whether it goes to sleep by itself at that hour.")
    sleep_start_hour: Whole = setting(
        2, "0 to 23, in the game's time zone (the setting TIME_ZONE).", ge=0, le=23
    )
    sleep_duration_hours: Number = setting(4, "how long a night is.", ge=0.1, le=23)
    tick_rate_sleep: Number = setting(60, "seconds between beats while it sleeps.", ge=1, le=3600)
    token_budget: Whole = setting(
        50_000,
        "tokens that the model calls of one night may use; 0: no calls in sleep.",
        ge=0,
        le=1_000_000_000,
    )
    min_awake_minutes: Number = setting(
        30,
        "how long it must have been awake before it may go to sleep by itself.",
        ge=0,
        le=100_000,
    )
    min_activity: Whole = setting(
        5,
        "tools it must have used since it woke before it may go to sleep by itself.",
        ge=0,
        le=100_000,
    )
