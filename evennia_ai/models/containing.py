"""A condition of queries: a text contains another, in any case and in all languages."""

from __future__ import annotations

import re

from django.db import connection
from django.db.models import Q


def containing(column: str, text: str) -> Q:
    """The condition that a column contains a text, in any case."""
    # SQLite's LIKE ignores case only for A to Z; its regular expressions are Python's.
    if connection.vendor == "sqlite" and not text.isascii():
        return Q(**{f"{column}__iregex": re.escape(text)})
    return Q(**{f"{column}__icontains": text})
