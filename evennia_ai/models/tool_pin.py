"""The table of pinned tools: what each tool of an MCP server was like when it was allowed.

`mcp.pin_store` fills it. A tool that is not like its row is not offered to any model.
"""

from __future__ import annotations

from django.db import models


class ToolPin(models.Model):
    """A tool as it was allowed: `mcp.pins.Pin`.

    Attributes:
        server: its name in EVENNIA_AI_MCP_SERVERS.
        tool: the name by which a model knows it; "" says that the server was seen.
        description: as a model is shown it.
        parameters: JSON of the schema of its arguments.
        by: who allowed it; "" where it was there when its server was first seen.
        at: when.
    """

    id = models.BigAutoField(primary_key=True)
    server = models.CharField(max_length=64)
    tool = models.CharField(max_length=64)
    description = models.TextField()
    parameters = models.TextField()
    by = models.CharField(max_length=255, blank=True)
    at = models.BigIntegerField()

    class Meta:
        """A table of the package, though the module is not its `models`."""

        app_label = "evennia_ai"
        constraints = (
            models.UniqueConstraint(fields=("server", "tool"), name="evennia_ai_one_pin_of_a_tool"),
        )
