"""The settings of the API, where a request comes from, and how often somebody may ask."""

from __future__ import annotations

from hashlib import sha256

from django.conf import settings
from django.core.cache import BaseCache, caches
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle
from rest_framework.views import APIView

from evennia_ai.api import portal
from evennia_ai.core.safety.addresses import client_of, counted_as, is_network, is_within
from evennia_ai.core.settings.services import NAME, ApiConfig

METHODS_THAT_READ = ("GET", "HEAD", "OPTIONS")
CACHE = "throttle"  # Evennia's own for such counts
LOOPBACK = ("127.0.0.1", "127.0.0.0/8", "::1")
LONGEST_HEADER = 2000


def api_config() -> ApiConfig:
    """The game's settings of the API.

    Raises:
        ConfigurationError: something in it is wrong.
    """
    return ApiConfig.from_stored(getattr(settings, NAME, {}))


def cache() -> BaseCache:
    """The cache of the counts."""
    return caches[CACHE if CACHE in settings.CACHES else "default"]


def trusted_proxies() -> tuple[str, ...]:
    """Addresses of proxies whose word is taken for who asked them.

    Evennia names the loopback in UPSTREAM_IPS for its own proxy, which passes on whatever header
    it is sent; that one is asked in another way.
    """
    named = [str(address) for address in getattr(settings, "UPSTREAM_IPS", ())]
    believed = [entry for entry in named if not is_within(entry, LOOPBACK)]
    return (*api_config().trusted_proxies, *filter(is_network, believed))


def address_of(request: Request) -> str:
    """The address a request comes from: what the client itself says of it is not believed."""
    forwarded = str(request.META.get("HTTP_X_FORWARDED_FOR", ""))
    peer = portal.peer_of(str(request.META.get(portal.KEY, "")))
    if not peer:
        peer = str(request.META.get("REMOTE_ADDR") or "")
        # Evennia's web server puts a part of that header in the place of the address of its proxy.
        if peer in forwarded:
            peer = LOOPBACK[0]
    return client_of(peer, forwarded[-LONGEST_HEADER:], trusted_proxies())[:60]


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
        return [of_address("anonymous_per_minute", address_of(request))]
    reads = request.method in METHODS_THAT_READ
    return [Throttle("reads_per_minute" if reads else "writes_per_minute", f"#{user.pk}")]
