"""The table of pinned tools: each tool of an MCP server as it was when it was approved.

`mcp.pin_store` fills it. A tool that has changed since is not offered to any model, because a
server could otherwise replace a harmless tool after the approval.
"""

from __future__ import annotations

from django.db import models


class ToolPin(models.Model):
    """A tool as it was approved: `mcp.pins.Pin`.

    Attributes:
        server: its name in EVENNIA_AI_MCP_SERVERS.
        tool: its name for a model; "" marks that the server was seen.
        description: as shown to a model.
        parameters: the JSON schema of its arguments.
        by: the person who approved it; "" if it was there when its server was first seen.
        at: time of the approval, in seconds since 1970.
    """

    id = models.BigAutoField(primary_key=True)
    server = models.CharField(max_length=64)
    tool = models.CharField(max_length=64)
    description = models.TextField()
    parameters = models.TextField()
    by = models.CharField(max_length=255, blank=True)
    at = models.BigIntegerField()

    class Meta:
        """Django needs the label, as the model is not defined in the app's `models` module."""

        app_label = "evennia_ai"
        constraints = (
            models.UniqueConstraint(fields=("server", "tool"), name="evennia_ai_one_pin_of_a_tool"),
        )
