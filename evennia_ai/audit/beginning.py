"""The first event of an audit log: the settings that an assistant has by then, and its past."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from evennia.utils.dbserialize import deserialize
from eventsourcing.domain import Aggregate

from evennia_ai.audit.aggregates import AssistantAggregate
from evennia_ai.audit.game_aggregate import GameAggregate
from evennia_ai.audit.streams import Subject
from evennia_ai.core.safety.audit_events import kept
from evennia_ai.core.settings.game import ATTRIBUTES, STATE

CREATED = "AssistantCreated"


def begin(whom: Subject, details: Mapping[str, Any], at: datetime) -> Aggregate:
    """The first version of a record.

    Args:
        details: of the AssistantCreated that it is, as they are kept.
        at: when it begins.
    """
    if whom.is_game:
        return GameAggregate.create(whom.id, timestamp=at)
    told = dict(details)
    name = told.pop("assistant_key", None) or whom.name
    config = told.pop("config", None) or kept(settings_of(whom.script))
    begun_with = told.pop("begun_with", None)
    signs = {sign: told.pop(sign) for sign in ("by", "via") if sign in told}
    return AssistantAggregate.create(
        whom.id, name, config, at, begun_with, **signs, more=told or None
    )


def settings_of(script: Any) -> dict[str, Any]:
    """The settings that an assistant stores."""
    stored = {item.key: item.value for item in script.attributes.all()}
    names = [name for name in ATTRIBUTES if name in stored and name not in STATE]
    return {name: deserialize(stored[name]) for name in names}
