"""The scripts of assistants, which are found by their tags."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db import OperationalError
from evennia.scripts.models import ScriptDB

TAG_CATEGORY, ANY_TAG = "system", "ai_assistant"
TAG_PREFIX = f"{ANY_TAG}:"


def tag_of(key: str) -> str:
    """The script tag an assistant is found by."""
    return f"{TAG_PREFIX}{key.casefold()}"


def is_tag(category: str | None, key: str) -> bool:
    """True for the tag of one assistant."""
    return category == TAG_CATEGORY and key.startswith(TAG_PREFIX)


def scripts_with(tag: str, among: Collection[int] | None = None) -> list[Any]:
    """The scripts that carry a tag, oldest first.

    While another process holds the database, those that run in this one are found without it: a
    stop must reach them.

    Args:
        tag: ANY_TAG for all assistants, or that of `tag_of`.
        among: only those of these primary keys; None: all.
    """
    # Evennia's search compares without case, for which the database reads all tags of the game.
    tagged = ScriptDB.objects.filter(db_tags__db_key=tag, db_tags__db_category=TAG_CATEGORY)
    if among is not None:
        tagged = tagged.filter(pk__in=among)
    try:
        numbers = list(tagged.order_by("pk").values_list("pk", flat=True))
    except OperationalError:
        return _running(tag, among)
    # Nearly all are in memory: reading their rows as well would take ten times as long.
    scripts = {number: ScriptDB.get_cached_instance(number) for number in numbers}
    scripts |= ScriptDB.objects.in_bulk(
        [number for number, each in scripts.items() if each is None]
    )
    return list(scripts.values())


def _running(tag: str, among: Collection[int] | None) -> list[Any]:
    """The scripts with a tag that run in this process."""
    known = (each for each in ScriptDB.get_all_cached_instances() if getattr(each, "work", None))
    return [
        script
        for script in sorted(known, key=lambda script: int(script.pk))
        if tag in (ANY_TAG, tag_of(script.key)) and (among is None or script.pk in among)
    ]
