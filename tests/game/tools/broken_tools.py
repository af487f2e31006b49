"""A tool module with a mistake in it."""

from typing import Any

from evennia_ai.tools import tool


@tool()
def undescribed(character: Any) -> str:
    return "x"
