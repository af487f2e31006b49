"""Pins in the game's database; called in the reactor's thread."""

from __future__ import annotations

import time
from collections.abc import Mapping

from django.db import transaction

from evennia_ai.mcp.pins import Pin
from evennia_ai.models import ToolPin


class StoredPins:
    """The pins of all servers; implements `mcp.pins.Pins`."""

    def read(self, server: str) -> Mapping[str, Pin]:
        """Read the pins of a server, by the names of its tools.

        Raises:
            DatabaseError: there is no such table, or no database.
        """
        rows = ToolPin.objects.filter(server=server)
        return {row.tool: Pin(row.description, row.parameters) for row in rows}

    def save(self, server: str, pins: Mapping[str, Pin], by: str) -> None:
        """Store pins; those of the same tools are replaced.

        Args:
            by: the person who allowed the tools; "" if they were allowed by the settings.

        Raises:
            DatabaseError: there is no such table, or no database.
        """
        at = int(time.time())
        rows = [
            ToolPin(
                server=server,
                tool=name,
                description=pin.description,
                parameters=pin.parameters,
                by=by,
                at=at,
            )
            for name, pin in pins.items()
        ]
        # One transaction: a crash between the two would leave the tools without pins, as if new.
        with transaction.atomic():
            ToolPin.objects.filter(server=server, tool__in=list(pins)).delete()
            ToolPin.objects.bulk_create(rows)
