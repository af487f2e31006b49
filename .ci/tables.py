"""Formats Markdown tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evennia_ai.core.settings.model import SettingsGroup


def as_table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]]) + "\n"


def settings_table(group: type[SettingsGroup]) -> str:
    """Return the settings of a group as a table."""
    name = group.NAME if group.NAME.isupper() else f"db.{group.NAME}"
    rows: list[tuple[object, ...]] = [
        (f"`{key}`", f"`{line.default}`", line.description)
        for key, line in group.model_fields.items()
    ]
    return as_table((f"key of `{name}`", "default", "what it does"), rows)
