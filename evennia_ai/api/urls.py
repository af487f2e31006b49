"""The addresses of the API: `path("api/ai/", include("evennia_ai.api.urls"))`, before `api/`."""

from __future__ import annotations

from django.urls import path, re_path, register_converter
from django.urls.converters import StringConverter

from evennia_ai.api import schema
from evennia_ai.api.endpoints import addresses
from evennia_ai.api.lost import Lost
from evennia_ai.api.table import TABLE

app_name = "evennia_ai_api"


class ShortNumber(StringConverter):
    """A whole number that every database can hold."""

    regex = "[0-9]{1,9}"

    def to_python(self, value: str) -> int:
        """The number."""
        return int(value)


class MemoryKey(StringConverter):
    """The key of a memory."""

    regex = "[0-9a-f]{32}"


class OwnNumber(StringConverter):
    """Address of memories that somebody may see of themselves: one memory, or a profile."""

    regex = "(?:[0-9]{1,18}|a[0-9a-f]{8})"


class PersonName(StringConverter):
    """A player or a being, by a number."""

    regex = "(?:account|object)-[0-9]{1,9}"


register_converter(ShortNumber, "ai_number")
register_converter(MemoryKey, "ai_memory")
register_converter(OwnNumber, "ai_own")
register_converter(PersonName, "ai_person")

urlpatterns = [
    *addresses(TABLE),
    path("schema/", schema.Schema.as_view(), name="schema"),
    # Whatever else is asked for here, line breaks or not, gets the body of every other mistake.
    re_path(r"^[\s\S]*$", Lost.as_view(), name="lost"),
]
