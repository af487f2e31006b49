"""The table of access tokens, by which programs act for an account over REST and MCP.

Only `operations.rights.token_store` reads and writes it.
"""

from __future__ import annotations

from enum import StrEnum

from django.conf import settings
from django.db import models


class TokenScope(StrEnum):
    """The part of its account's rights that a token has."""

    READ = "read"  # changes nothing and reveals no private words
    USUAL = "usual"  # all rights over REST; over MCP as `read`
    WRITE = "write"  # all rights over both


class AccessToken(models.Model):
    """A token for programs. The token itself is not stored; it is shown once, when it is made.

    Attributes:
        begins: the token's first characters, by which people recognize it.
        digest: SHA-256 of the token, in hexadecimal digits.
        password: digest of the account's stored password; changing that invalidates the token.
        place: digest of the network it was requested from; "" if it was made in the game.
        ends_at: expiry time.
        used_at: time of its last use, rounded to the hour; 0: never.
        scope: a TokenScope.
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
        """Django needs the label, as the model is not defined in the app's `models` module."""

        app_label = "evennia_ai"
