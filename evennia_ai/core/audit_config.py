"""How long the record of an assistant is kept, as it is set: strictly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from evennia_ai.core.safety_config import read_mapping, read_number
from evennia_ai.errors import ConfigurationError

NAME = "EVENNIA_AI_AUDIT_CONFIG"


@dataclass(frozen=True, slots=True)
class AuditConfig:
    """How long the record of an assistant is kept in the database, and what becomes of it then.

    Attributes:
        keep_days: days after which events are moved into an archive; 0: for ever.
        keep_events: events of one assistant that stay in the database; 0: no limit.
        archive_folder: where archives are put, beginning at the game's folder.
        keep_archives: archives of one assistant; the oldest beyond are deleted; 0: all are kept.
    """

    keep_days: float = 90.0
    keep_events: int = 100_000
    archive_folder: str = "server/ai_archive"
    keep_archives: int = 0


def read_audit_config(given: Any) -> AuditConfig:
    """The setting as a value.

    Args:
        given: EVENNIA_AI_AUDIT_CONFIG.

    Raises:
        ConfigurationError: something in it is wrong; the text names the path.
    """
    given = read_mapping(NAME, given, [entry.name for entry in fields(AuditConfig)])
    return replace(AuditConfig(), **{name: _read(name, given) for name in given})


def _read(name: str, given: Mapping[str, Any]) -> Any:
    path, value = f"{NAME}.{name}", given[name]
    if name == "archive_folder":
        if not isinstance(value, str) or not value.strip():
            raise ConfigurationError(f"{path} is {value!r}; it must be the name of a folder")
        return value
    zero = "0 for ever" if name == "keep_days" else "0 for all"
    return read_number(path, value, is_whole=name != "keep_days", zero=zero)
