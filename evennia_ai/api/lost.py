"""The answer to an address where there is nothing."""

from __future__ import annotations

from typing import Any

from django.urls import Resolver404, resolve
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from evennia_ai.api.base import ApiView, missing


@extend_schema(exclude=True)
class Lost(ApiView):
    """Any address that the API does not have."""

    needs_account = False

    def initial(self, request: Request, *args: Any, **path: Any) -> None:
        """Say so, whoever asks."""
        hint = " Did you mean it with a / at its end?" if _is_there(f"{request.path}/") else ""
        raise missing(f"There is nothing at this address.{hint}")


def _is_there(address: str) -> bool:
    try:
        found = resolve(address)
    except Resolver404:
        return False
    return bool(found.url_name != "lost")
