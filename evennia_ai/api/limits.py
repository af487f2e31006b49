"""Rate limits of requests, per account and per network address."""

from __future__ import annotations

from hashlib import sha256

from django.conf import settings
from django.core.cache import BaseCache, caches
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle
from rest_framework.views import APIView

from evennia_ai.core.safety.addresses import counted_as
from evennia_ai.runtime.web_requests import address_of, api_config

METHODS_THAT_READ = ("GET", "HEAD", "OPTIONS")
# Evennia's settings define a cache of this name for its own throttling.
CACHE = "throttle"


def cache() -> BaseCache:
    """The cache that holds the counts."""
    # A game may replace CACHES without it.
    return caches[CACHE if CACHE in settings.CACHES else "default"]


class Throttle(SimpleRateThrottle):
    """Counts the requests of one caller in a minute.

    Attributes:
        setting: the name of the setting with the limit; 0 there: no limit.
        who: the caller: requests with the same value are counted together.
    """

    def __init__(self, setting: str, who: str, *, times: int = 1) -> None:
        count = getattr(api_config(), setting) * times
        self.rate = f"{count}/minute" if count else ""
        self.setting, self.who = setting, who
        self.cache = cache()
        super().__init__()

    def get_rate(self) -> None:
        """Return None, for no limit; DRF calls this only if `rate` is empty."""

    def get_cache_key(self, request: Request, view: APIView | None) -> str:
        """The cache key; a digest, so that the cache shows no names or addresses."""
        # Account names are not case-sensitive; "replace" for a name with half a surrogate pair.
        digest = sha256(self.who.casefold().encode("utf-8", "replace")).hexdigest()
        return f"evennia_ai_api_{self.setting}_{digest[:32]}"

    def is_over(self, request: Request, view: APIView | None) -> bool:
        """True if the limit is reached. Unlike `allow_request` it does not count the request."""
        if not self.rate:
            return False
        self.now = self.timer()
        requested_at = self.cache.get(self.get_cache_key(request, view), [])
        self.history = [at for at in requested_at if at > self.now - self.duration]
        return bool(len(self.history) >= self.num_requests)


def of_address(setting: str, address: str) -> Throttle:
    """The throttle of an address, or in IPv6 of its network, all of which one client may have."""
    return Throttle(setting, counted_as(address))


def throttles_of(request: Request) -> list[Throttle]:
    """The throttles of a request: by account if there is one, else by address."""
    user = request.user
    if user is None or not user.is_authenticated:
        return [of_address("anonymous_per_minute", address_of(request.META))]
    reads = request.method in METHODS_THAT_READ
    return [Throttle("reads_per_minute" if reads else "writes_per_minute", f"#{user.pk}")]
