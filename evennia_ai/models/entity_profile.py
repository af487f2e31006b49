"""The table of profiles, and the write counters by which cached profiles are invalidated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import Any

from django.db import models, transaction

_ALL = 0
_written: Counter[int] = Counter()


def written(assistant: int) -> tuple[int, int]:
    """Counters that change whenever this process may have written a profile of an assistant.

    A rollback does not change them, so a profile that was read in a transaction after a write must
    not be cached.
    """
    return _written[_ALL], _written[assistant]


def note_written(assistant: int = _ALL) -> None:
    """Invalidate cached profiles now, and again after the commit.

    Args:
        assistant: id of the assistant's script; 0: of any assistant.
    """
    _written[assistant] += 1
    # Another thread may read and cache the old row between the write and the commit.
    transaction.on_commit(partial(_written.update, (assistant,)))


class ProfileRows(models.QuerySet["EntityProfile"]):
    """A query set that notes every write."""

    def update(self, **values: Any) -> int:
        """Update columns of all rows."""
        # The rows may belong to any assistant, so all caches are invalidated.
        count: int = super().update(**values)
        note_written()
        return count

    def delete(self) -> tuple[int, dict[str, int]]:
        """Delete all rows."""
        gone: tuple[int, dict[str, int]] = super().delete()
        note_written()
        return gone

    # As in Django: `EntityProfile.objects.delete()` must not exist.
    delete.queryset_only = True  # type: ignore[attr-defined]

    def bulk_create(
        self, objs: Iterable[EntityProfile], *args: Any, **kwargs: Any
    ) -> list[EntityProfile]:
        """Insert new rows."""
        profiles: list[EntityProfile] = super().bulk_create(objs, *args, **kwargs)
        note_written()
        return profiles


class EntityProfile(models.Model):
    """An assistant's profile of one player or object.

    The observations it derives from are the memories with this id in `person`.

    Attributes:
        entity: "*#3" for a player's account, "#12" for an object.
        attributes: known facts, [{"text", "audience", "at"}].
        favour: the assistant's liking, from 0 to 1.
        consolidated: id of the newest memory that `attributes` include.
    """

    id = models.BigAutoField(primary_key=True)
    assistant = models.BigIntegerField()
    entity = models.CharField(max_length=64)
    entity_type = models.CharField(max_length=16)
    name = models.CharField(max_length=255, blank=True)
    attributes = models.JSONField(default=list)
    favour = models.FloatField(default=0.0)
    meetings = models.IntegerField(default=0)
    first_at = models.FloatField()
    last_at = models.FloatField()
    consolidated = models.BigIntegerField(default=0)

    objects = ProfileRows.as_manager()

    class Meta:
        """One profile per entity. Django needs the label outside the app's `models` module."""

        app_label = "evennia_ai"
        constraints = [
            models.UniqueConstraint(
                fields=["assistant", "entity"], name="evennia_ai_one_profile_each"
            )
        ]

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Write the row."""
        super().save(*args, **kwargs)
        note_written()

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        """Delete the row."""
        gone: tuple[int, dict[str, int]] = super().delete(*args, **kwargs)
        note_written()
        return gone
