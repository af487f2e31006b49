"""The settings of the audit log."""

from __future__ import annotations

from typing import ClassVar

from evennia_ai.core.settings.model import Amount, Count, LenientGroup, Word, setting


class AuditConfig(LenientGroup):
    """The time for which the audit log of an assistant stays in the database, and its archives."""

    NAME: ClassVar[str] = "EVENNIA_AI_AUDIT_CONFIG"

    keep_days: Amount = setting(
        90.0, "days after which events are moved into an archive; 0: for ever.", note="0 for ever"
    )
    keep_events: Count = setting(
        100_000, "events of one assistant that stay in the database; 0: no limit.", note="0 for all"
    )
    archive_folder: Word = setting(
        "server/ai_archive",
        "where archives are put, beginning at the game's folder.",
        example="server/ai_archive",
    )
    keep_archives: Count = setting(
        0,
        "archives of one assistant; the oldest beyond are deleted; 0: all are kept.",
        note="0 for all",
    )
