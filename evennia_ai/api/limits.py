"""Rate limits of requests: of a token, of an account, of an address."""

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
CACHE = "throttle"  # Evennia's own for such counts


def cache() -> BaseCache:
    """The cache of the counts."""
    return caches[CACHE if CACHE in settings.CACHES else "default"]


class Throttle(SimpleRateThrottle):
    """Counts the requests of somebody in a minute.

    Attributes:
        setting: the name of its rate.
        who: whose requests are counted together.
    """

    def __init__(self, setting: str, who: str, *, times: int = 1) -> None:
        count = getattr(api_config(), setting) * times
        self.rate = f"{count}/minute" if count else ""
        self.setting, self.who = setting, who
        self.cache = cache()
        super().__init__()

    def get_rate(self) -> None:
        """Without one of its own there is no limit."""

    def get_cache_key(self, request: Request, view: APIView | None) -> str:
        """Under which name the count is kept: nothing of a name or an address can be read there."""
        digest = sha256(self.who.casefold().encode("utf-8", "replace")).hexdigest()
        return f"evennia_ai_api_{self.setting}_{digest[:32]}"

    def is_over(self, request: Request, view: APIView | None) -> bool:
        """True where nothing more is taken now. The check itself is not counted."""
        if not self.rate:
            return False
        self.now = self.timer()
        kept = self.cache.get(self.get_cache_key(request, view), [])
        self.history = [at for at in kept if at > self.now - self.duration]
        return bool(len(self.history) >= self.num_requests)


def of_address(setting: str, address: str) -> Throttle:
    """The throttle of an address, together with those it cannot be told from."""
    return Throttle(setting, counted_as(address))


def throttles_of(request: Request) -> list[Throttle]:
    """The throttles of a request: by account where there is one, else by address."""
    user = request.user
    if user is None or not user.is_authenticated:
        return [of_address("anonymous_per_minute", address_of(request.META))]
    reads = request.method in METHODS_THAT_READ
    return [Throttle("reads_per_minute" if reads else "writes_per_minute", f"#{user.pk}")]
