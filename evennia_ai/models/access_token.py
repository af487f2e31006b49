"""The table of access tokens, with which programs speak for an account: by REST, and by MCP.

`operations.rights.token_store` fills it, and nobody else reads it.
"""

from __future__ import annotations

from enum import StrEnum

from django.conf import settings
from django.db import models


class TokenScope(StrEnum):
    """The part of what its account may do that may be done with a token."""

    READ = "read"  # nothing is changed and nothing revealed, by no way
    USUAL = "usual"  # by REST all of it, as ever; by MCP as `read`
    WRITE = "write"  # all of it by MCP too


class AccessToken(models.Model):
    """A token for programs. The token itself is nowhere: it is told once, when it is made.

    Attributes:
        begins: the token's first characters, by which people tell one from another.
        digest: SHA-256 of the token, in hexadecimal digits.
        password: digest of the account's password as it is stored; the token ends when it changes.
        place: digest of the network it was asked for from; "" where it was made in the game.
        ends_at: when it is worth nothing any more.
        used_at: when it was last used, to the hour; 0: never.
        scope: what may be done with it of what its account may do.
    """

    id = models.BigAutoField(primary_key=True)
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+"
    )
    name = models.CharField(max_length=64, blank=True)
    begins = models.CharField(max_length=8)
    digest = models.CharField(max_length=64, unique=True)
    password = models.CharField(max_length=64)
    place = models.CharField(max_length=64, blank=True)
    made_at = models.BigIntegerField()
    ends_at = models.BigIntegerField()
    used_at = models.BigIntegerField(default=0)
    scope = models.CharField(max_length=10, default=TokenScope.USUAL.value)

    class Meta:
        """A table of the package, though the module is not its `models`."""

        app_label = "evennia_ai"
