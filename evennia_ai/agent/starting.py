"""The start of many assistants: what each begins with is read for several by a few statements.

Evennia starts its scripts one after the other. Each asks for its attributes, its body and its tags,
and Django compiles each of these statements anew, which takes longer than all else of a start.
"""

from __future__ import annotations

from typing import Any

from django.db.models import Prefetch, prefetch_related_objects
from evennia.typeclasses.tags import Tag

from evennia_ai.agent.holders import NearBody
from evennia_ai.runtime import services
from evennia_ai.runtime.attributes import load_together

TAG_CATEGORY, TAG_PREFIX = "system", "ai_assistant:"
# Few enough to be read in a moment, and for every database to take their numbers.
PORTION = 200
_TAGS = "tags_ahead"
_Typeclass: Any = object  # where the class stands there is one behind it


def tag_of(key: str) -> str:
    """The script tag an assistant is found by."""
    return f"{TAG_PREFIX}{key.casefold()}"


def read_ahead(script: Any) -> None:
    """Read what an assistant begins with, and others beside it that wait for their start."""
    if _TAGS in script.__dict__:
        return
    others = (each for each in script.get_all_cached_instances() if _waits(each))
    portion = [script, *(each for each in others if each is not script)][:PORTION]
    if len(portion) == 1:  # by itself it asks for no more than this
        return
    load_together(portion)
    tags = Tag.objects.filter(db_category=TAG_CATEGORY, db_key__startswith=TAG_PREFIX)
    prefetch_related_objects(portion, "db_obj", Prefetch("db_tags", tags, to_attr=_TAGS))


class AmongMany(_Typeclass):
    """A script of which there may be a thousand, all with a timer; put it before the typeclass."""

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Save; what changes nothing, as at each start, begins no transaction of its own."""
        if kwargs.get("update_fields") != []:
            super().save(*args, **kwargs)

    def _step_task(self) -> Any:
        """The timer fires. Where others wait for their turn it comes after them, else at once."""
        beat, pacer = super()._step_task, services.pacer()
        return pacer.turn().addCallback(lambda _: beat()) if pacer.is_busy else beat()


def _waits(script: Any) -> bool:
    is_ours = isinstance(script, NearBody)
    is_begun = not is_ours or script.work is not None or _TAGS in script.__dict__
    return not is_begun and script.db_is_active and script.pk is not None


def has_tag(script: Any) -> bool:
    """True where it is an assistant of the game. What was read ahead counts once, at the start."""
    tags = script.__dict__.pop(_TAGS, None)
    if tags is None:
        found = script.db_tags.filter(db_category=TAG_CATEGORY, db_key__startswith=TAG_PREFIX)
        return bool(found.exists())
    return bool(tags)
