"""The settings of the trace."""

from __future__ import annotations

from typing import ClassVar

from evennia_ai.core.settings.model import Amount, Flag, SettingsGroup, Whole, setting


class TraceConfig(SettingsGroup):
    """The time for which the trace of an assistant is kept, and the words in it."""

    NAME: ClassVar[str] = "EVENNIA_AI_TRACE_CONFIG"

    keep_days: Amount = setting(
        7.0, "days for which it is kept; 0: there is none.", note="0 for no trace"
    )
    keep_messages: Whole = setting(
        5_000,
        "messages of one assistant that are kept, 100 to 1,000,000; the oldest go.",
        ge=100,
        le=1_000_000,
    )
    private_words: Flag = setting(
        False, "whether words that were said in private are kept with it, too."
    )
