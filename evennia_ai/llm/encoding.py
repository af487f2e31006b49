"""A request body as bytes. Its longest part, the tools, is written out only once."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

MOST_KEPT = 1000
_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_kept: OrderedDict[int, tuple[Any, str]] = OrderedDict()


def encode(body: Mapping[str, Any]) -> bytes:
    """A request body as JSON.

    Raises:
        TypeError, ValueError: something in it cannot be written as JSON.
    """
    rest = _JSON.encode({key: value for key, value in body.items() if key != "tools"})
    if not body.get("tools"):
        return rest.encode()
    tools = ",".join(map(_tool_text, body["tools"]))
    comma = "," if len(rest) > 2 else ""
    return f'{rest[:-1]}{comma}"tools":[{tools}]}}'.encode()


def _tool_text(tool: Mapping[str, Any]) -> str:
    """A tool's JSON; the same object is not written twice, and is held so that its id stays its."""
    kept = _kept.get(id(tool))
    if kept is None:
        kept = _kept[id(tool)] = (tool, _JSON.encode(tool))
        if len(_kept) > MOST_KEPT:
            _kept.popitem(last=False)
    return kept[1]
