"""URLs of the API: `path("api/ai/", include("evennia_ai.api.urls"))`, placed before `api/`."""

from __future__ import annotations

from typing import Any

from django.urls import Resolver404, path, re_path, register_converter, resolve
from django.urls.converters import StringConverter
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from evennia_ai.api import schema
from evennia_ai.api.base import ApiView, not_found
from evennia_ai.api.endpoints import addresses
from evennia_ai.core.cards.lore_pack import PACK_NAME

app_name = "evennia_ai_api"


class ShortNumber(StringConverter):
    """A whole number of up to nine digits, which fits a 32-bit integer."""

    regex = "[0-9]{1,9}"

    def to_python(self, value: str) -> int:
        """Convert the digits."""
        return int(value)


class MemoryKey(StringConverter):
    """The key of a memory."""

    regex = "[0-9a-f]{32}"


class PackName(StringConverter):
    """The name of a lore pack."""

    regex = PACK_NAME.strip("^$")  # Django embeds it in the pattern of the whole path


class OwnNumber(StringConverter):
    """The id of something an assistant knows of the caller: a memory, or a profile's attribute."""

    regex = "(?:[0-9]{1,18}|a[0-9a-f]{8})"


class PersonName(StringConverter):
    """A player or another being, such as `account-3` or `object-12`."""

    regex = "(?:account|object)-[0-9]{1,9}"


@extend_schema(exclude=True)
class Lost(ApiView):
    """The view of every other path below the API's."""

    needs_account = False

    def initial(self, request: Request, *args: Any, **path: Any) -> None:
        """Answer 404, in the form of the API's errors."""
        hint = " Did you forget the / at its end?" if _is_there(f"{request.path_info}/") else ""
        raise not_found(f"There is nothing at this address.{hint}")


def _is_there(address: str) -> bool:
    try:
        match = resolve(address)
    except Resolver404:
        return False
    return bool(match.url_name != "lost")


register_converter(ShortNumber, "ai_number")
register_converter(MemoryKey, "ai_memory")
register_converter(PackName, "ai_pack")
register_converter(OwnNumber, "ai_own")
register_converter(PersonName, "ai_person")

urlpatterns = [
    *addresses(schema.TABLE),
    path("schema/", schema.Schema.as_view(), name="schema"),
    # `.` would not match a line break (%0A), for which Django's HTML page would be sent.
    re_path(r"^[\s\S]*$", Lost.as_view(), name="lost"),
]
