"""The settings of the API, and how often somebody may ask."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from django.conf import settings
from django.core.cache import BaseCache, caches
from rest_framework.throttling import SimpleRateThrottle

from evennia_ai.core.api_config import NAME, ApiConfig, read_api_config

METHODS_THAT_READ = ("GET", "HEAD", "OPTIONS")
CACHE = "throttle"  # Evennia's own for such counts


def api_config() -> ApiConfig:
    """What is set for the API.

    Raises:
        ConfigurationError: something in it is wrong.
    """
    return read_api_config(getattr(settings, NAME, {}))


def cache() -> BaseCache:
    """Where the counts are kept."""
    return caches[CACHE if CACHE in settings.CACHES else "default"]


def address_of(request: Any) -> str:
    """The address a request comes from, by the game's settings about proxies."""
    known = getattr(request, "origin_ip", None)
    return str(known or request.META.get("REMOTE_ADDR") or "")[:60]


class Throttle(SimpleRateThrottle):
    """Counts the requests of somebody in a minute.

    Attributes:
        setting: the name of its rate.
        who: whose requests are counted together.
    """

    def __init__(self, setting: str, who: str) -> None:
        count = getattr(api_config(), setting)
        self.rate = f"{count}/minute" if count else ""
        self.setting, self.who = setting, who
        self.cache = cache()
        super().__init__()

    def get_rate(self) -> None:
        """Without one of its own there is no limit."""

    def get_cache_key(self, request: Any, view: Any) -> str:
        """Under which name the count is kept: nothing of a name or an address can be read there."""
        digest = sha256(self.who.casefold().encode("utf-8", "replace")).hexdigest()
        return f"evennia_ai_api_{self.setting}_{digest[:32]}"


def throttles_of(request: Any) -> list[Throttle]:
    """What counts a request: by account where there is one, else by address."""
    user = request.user
    if user is None or not user.is_authenticated:
        return [Throttle("anonymous_per_minute", address_of(request))]
    reads = request.method in METHODS_THAT_READ
    return [Throttle("reads_per_minute" if reads else "writes_per_minute", f"#{user.pk}")]
