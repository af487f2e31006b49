"""The table of profiles, and the number by which whoever keeps some knows that they are as read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import partial
from typing import Any

from django.db import models, transaction

_ALL = 0
_written: Counter[int] = Counter()


def written(assistant: int) -> tuple[int, int]:
    """Numbers that change when this process wrote a profile of an assistant, or perhaps did.

    They do not change where a write is undone, so nothing may be kept that was read in a
    transaction which wrote one before.
    """
    return _written[_ALL], _written[assistant]


def note_written(assistant: int = _ALL) -> None:
    """Let profiles be read anew: now, and when what is written is stored.

    Args:
        assistant: whose profile it is; 0: it may be of any.
    """
    _written[assistant] += 1
    transaction.on_commit(partial(_written.update, (assistant,)))


class ProfileRows(models.QuerySet["EntityProfile"]):
    """Rows of profiles; whatever writes some is noted."""

    def update(self, **values: Any) -> int:
        """Write columns of all of them."""
        # Its rows may be of any assistant, so that all read theirs anew.
        count: int = super().update(**values)
        note_written()
        return count

    def delete(self) -> tuple[int, dict[str, int]]:
        """Take all of them out."""
        gone: tuple[int, dict[str, int]] = super().delete()
        note_written()
        return gone

    delete.queryset_only = True  # type: ignore[attr-defined]  # as Django's own: not of a manager

    def bulk_create(
        self, objs: Iterable[EntityProfile], *args: Any, **kwargs: Any
    ) -> list[EntityProfile]:
        """Put new ones in."""
        made: list[EntityProfile] = super().bulk_create(objs, *args, **kwargs)
        note_written()
        return made


class EntityProfile(models.Model):
    """An assistant's profile of one being: what it is like, and how they stand.

    What was observed of it are the memories with its id in `person`.

    Attributes:
        entity: "*#3" of a player's account, "#12" of an object.
        attributes: what is known of it, [{"text", "audience", "at"}].
        favour: how it is liked, 0 to 1.
        consolidated: id of the newest memory that `attributes` take into account.
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
        """One for each being; a table of the package, though the module is not its `models`."""

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
        """Take the row out."""
        gone: tuple[int, dict[str, int]] = super().delete(*args, **kwargs)
        note_written()
        return gone
