"""The answer of a server's tool, as bounded text for the model."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from evennia_ai.core.text.cleaning import one_line, strip_control

MOST_RESULT_CHARS = 8_000
MOST_ERROR_CHARS = 1_000


def as_text(content: Iterable[Any], structured: Any) -> str:
    """The answer as text: its texts one below the other, anything else named.

    Args:
        content: blocks with the attributes of MCP's content (`type`, `text`, `mime_type`, ...).
        structured: the answer as a JSON value, used when there is no text.
    """
    content = list(content)
    texts = [block.text for block in content if block.type == "text"]
    rest = [_name(block) for block in content if block.type != "text"]
    if not any(text.strip() for text in texts) and structured is not None:
        texts = [json.dumps(structured, ensure_ascii=False)]
    return bounded("\n".join(filter(None, [*texts, *rest])), MOST_RESULT_CHARS) or "done"


def bounded(text: str, most: int) -> str:
    """The text without control characters; a long one is cut and says so."""
    size = len(text)
    # Twice the room, since what is stripped makes it shorter; a megabyte is not worth cleaning.
    text = strip_control(text[: 2 * most]).strip()
    if size <= 2 * most and len(text) <= most:
        return text
    return f"{text[:most].rstrip()}… [cut: the whole has {size} characters]"


def _name(block: Any) -> str:
    if block.type == "resource":
        resource = block.resource
        text = getattr(resource, "text", None)
        return text if text is not None else f"[a file: {one_line(str(resource.uri))}]"
    if block.type == "resource_link":
        return f"[a link: {one_line(str(block.uri))}]"
    kind = {"image": "an image", "audio": "a sound"}.get(block.type, "something unknown")
    return f"[{kind}, {one_line(str(getattr(block, 'mime_type', '') or 'of no known type'), 60)}]"
