"""HTTP transport to a chat completions API: aiohttp on the asyncio loop, bridged to Deferreds."""

from __future__ import annotations

import ipaddress
import ssl
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Protocol
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx2
from aiohttp.http_exceptions import HttpProcessingError
from twisted.internet.defer import Deferred
from yarl import URL

from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.typed_objects import Reactor
from evennia_ai.errors import (
    ConfigurationError,
    ContextLengthError,
    ModelConnectionError,
    ModelError,
    ModelReplyError,
    ModelStatusError,
    ReplyTooLargeError,
)
from evennia_ai.llm.bridge import as_deferred
from evennia_ai.llm.complaints import (
    is_of_model,
    is_too_long,
    is_unfit,
    is_used_up,
    read_complaint,
    status_within,
)
from evennia_ai.llm.endpoints import COMPLETIONS
from evennia_ai.llm.offers import encode
from evennia_ai.llm.rate_limits import RateLimitInfo, read_rate_limits
from evennia_ai.resilience.retry import read_retry_after

AS_JSON = {"Content-Type": "application/json"}
# The largest completion (with its reasoning), and the largest other answer (a list of models).
LARGEST_REPLY_BYTES = 1_000_000
LARGEST_ANSWER_BYTES = 4_000_000
# Shorter keys, such as "ollama" for a service that needs none, occur in answers as words.
SHORTEST_SECRET = 16
CONNECT_SECONDS = 10.0
# Far above any number of slots: the client limits calls, and aiohttp's default of 100 must not.
MOST_CONNECTIONS = 2000
# Time an idle connection stays open for the next request.
IDLE_SECONDS = 5.0
# The reason of OpenSSL, by its version, when a server answers https with plain text.
NOT_ENCRYPTED = ("WRONG_VERSION_NUMBER", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE")
USER_AGENT = "evennia-ai"
PROXY_ADVICE = (
    "HTTP_PROXY, HTTPS_PROXY and ALL_PROXY must be such as http://proxy:3128 or https://proxy, and "
    "NO_PROXY names who is asked without it"
)
# Errors from before a request leaves. After any other error the service may have received it and
# charge for it.
NOT_SENT = (
    aiohttp.ClientConnectorError,
    aiohttp.ClientHttpProxyError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.InvalidUrlClientError,
)


class Transport(Protocol):
    """Sends one request body and gives the response body.

    It may also have `rate_limit_info`, the limits stated by its last answer, and `close()`.
    """

    def post(self, body: Mapping[str, object]) -> Deferred[bytes]:
        """Ask for one completion. Cancelling the Deferred drops the request.

        Raises:
            ModelError: the request failed.
        """


def _root_cause(error: BaseException) -> str:
    if isinstance(error, aiohttp.TooManyRedirects):  # its text is empty
        return "it redirects again and again"
    while error.__cause__ is not None:
        error = error.__cause__
    if isinstance(error, ssl.SSLError) and error.reason in NOT_ENCRYPTED:
        return "what answers there does not speak https; if it is a plain server, write http://"
    # As text, a broken answer begins with "400", which no service sent.
    text = error.message if isinstance(error, HttpProcessingError) else str(error)
    return one_line(text, 2000) or type(error).__name__


def _is_broken_answer(error: BaseException) -> bool:
    causes = (error, error.__cause__)
    return any(
        isinstance(each, aiohttp.ClientPayloadError | HttpProcessingError) for each in causes
    )


def _was_sent(error: Exception) -> bool:
    # A redirect to an invalid address is an InvalidUrlClientError too, but it answers a request.
    return isinstance(error, aiohttp.RedirectClientError) or not isinstance(error, NOT_SENT)


def _is_this_machine(host: str) -> bool:
    """True for a loopback address, which a proxy would resolve to its own machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def proxy_for(base_url: str) -> tuple[URL | None, dict[str, str]]:
    """The proxy that the environment sets for an address, and the headers for it.

    Raises:
        ConfigurationError: its address cannot be read, or is not http or https.
    """
    parts, proxies = urlsplit(base_url), getproxies()
    host = parts.hostname or ""
    address = proxies.get(parts.scheme) or proxies.get("all")
    if not address or _is_this_machine(host) or proxy_bypass(host):
        return None, {}
    try:
        return _read_proxy(URL(address if "://" in address else f"http://{address}"))
    except ValueError:  # its text quotes the address, which may hold a password
        raise ConfigurationError(
            f"the proxy in the environment cannot be read; {PROXY_ADVICE}"
        ) from None


def _read_proxy(proxy: URL) -> tuple[URL, dict[str, str]]:
    # aiohttp would take a SOCKS address for one of an HTTP proxy.
    if proxy.scheme not in ("http", "https"):
        raise ConfigurationError(
            f"the proxy in the environment is of the kind {proxy.scheme!r}, which is not known "
            f"here; {PROXY_ADVICE}"
        )
    if not proxy.host:
        raise ValueError("no host")
    if proxy.user is None:
        return proxy, {}
    secret = aiohttp.encode_basic_auth(proxy.user, proxy.password or "")
    return proxy.with_user(None), {"Proxy-Authorization": secret}


class OpenAITransport:
    """The transport to one chat completions endpoint.

    Headers, proxy and TLS context are made once, and each request is one call of aiohttp; the
    openai SDK takes five times the CPU for the same. Retries and deadlines are the client's task.

    Args:
        reactor: the reactor in whose thread Deferreds fire.
        most_bytes: the largest completion that is read; a larger one is an error.

    Attributes:
        plain_headers: the headers of all requests that hold no secret.
        rate_limit_info: the limits in the last answer that stated any. Services count per key, so
            they hold for all clients with this key.

    Raises:
        ConfigurationError: the environment sets a proxy that cannot be used.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        headers: Mapping[str, str],
        *,
        reactor: Reactor,
        most_bytes: int = LARGEST_REPLY_BYTES,
    ) -> None:
        self.base_url = base_url
        self.rate_limit_info: RateLimitInfo | None = None
        self.plain_headers = dict(headers)
        self._most_bytes = most_bytes
        self._key = api_key
        self._reactor = reactor
        self._proxy, self._proxy_headers = proxy_for(base_url)
        self._headers = {"Accept": "application/json", "User-Agent": USER_AGENT, **headers}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        # A proxy gets its credentials in the CONNECT request for https, and in the request itself
        # for plain http.
        if urlsplit(base_url).scheme == "http":
            self._headers |= self._proxy_headers
        # Created later: aiohttp requires that to happen in the thread of its event loop.
        self._session: aiohttp.ClientSession | None = None

    def post(self, body: Mapping[str, object]) -> Deferred[bytes]:
        """Ask for one completion."""
        return as_deferred(self._request("POST", COMPLETIONS, body), self._reactor)

    def mark_key(self, mark: Callable[[str], str]) -> str:
        """The result of `mark` (such as a hash) for the API key; "" without a key."""
        return mark(self._key) if self._key else ""

    async def send(self, body: bytes) -> bytes:
        """Ask for one completion, as a coroutine of the asyncio loop.

        Args:
            body: the request body as JSON.
        """
        return await self._request("POST", COMPLETIONS, body)

    def models(self) -> Deferred[bytes]:
        """Ask for the list of models."""
        return as_deferred(self._request("GET", "/models", None), self._reactor)

    def close(self) -> Deferred[None]:
        """Close the connections."""
        return as_deferred(self.end(), self._reactor)

    def _open_session(self) -> aiohttp.ClientSession:
        """The session, created on first use; only in the loop's thread."""
        if self._session is None:
            is_plain = urlsplit(self.base_url).scheme == "http"
            connector = aiohttp.TCPConnector(
                limit=MOST_CONNECTIONS,
                keepalive_timeout=IDLE_SECONDS,
                ssl=True if is_plain else httpx2.create_ssl_context(),
            )
            timeout = aiohttp.ClientTimeout(sock_connect=CONNECT_SECONDS)
            self._session = aiohttp.ClientSession(
                connector=connector, headers=self._headers, timeout=timeout, proxy=self._proxy
            )
        return self._session

    async def end(self) -> None:
        """Close the connections, as a coroutine of the asyncio loop."""
        if self._session is not None:
            await self._session.close()

    async def _request(
        self, method: str, path: str, body: Mapping[str, object] | bytes | None
    ) -> bytes:
        try:
            return await self._exchange(method, path, body)
        except ModelError:
            raise
        # `from None` below: the original errors may quote headers or addresses with secrets.
        except (aiohttp.ClientError, OSError) as error:
            cause = self._redacted(_root_cause(error), 160)
            text = f"no connection to {self.base_url}: {cause}"
            if _is_broken_answer(error):
                text = f"the answer of {self.base_url} cannot be read: {cause}"
            # Without a session (its certificates could not be read, say) nothing was sent.
            was_sent = self._session is not None and _was_sent(error)
            raise ModelConnectionError(text, was_sent=was_sent) from None
        except Exception as error:
            cause = self._redacted(_root_cause(error), 160)
            raise ModelReplyError(
                f"the answer of {self.base_url} cannot be read: {cause}"
            ) from None

    async def _exchange(
        self, method: str, path: str, body: Mapping[str, object] | bytes | None
    ) -> bytes:
        most = self._most_bytes if path == COMPLETIONS else LARGEST_ANSWER_BYTES
        data = body if body is None or isinstance(body, bytes) else encode(body)
        options = {} if data is None else {"data": data, "headers": AS_JSON}
        request = self._open_session().request(
            method, self.base_url + path, proxy_headers=self._proxy_headers, **options
        )
        async with request as response:
            if response.method != method:
                raise self._redirected(response)
            content = await _read_bounded(response, most)
        # An endpoint may repeat the key in a page that is later quoted as no answer.
        if len(self._key) >= SHORTEST_SECRET:
            content = content.replace(self._key.encode("utf-8", "replace"), b"***")
        # Read before the status: a refusal states the limits too.
        self.rate_limit_info = read_rate_limits(response.headers) or self.rate_limit_info
        if not 200 <= response.status < 300:
            raise self._status_error(response.status, response.headers, content)
        if path == COMPLETIONS and (status := status_within(content)) is not None:
            raise self._status_error(status, response.headers, content, is_of_answer=True)
        return content

    def _redirected(self, response: aiohttp.ClientResponse) -> ModelStatusError:
        """The error for a redirect after which a POST became a GET."""
        status = response.history[0].status
        place = str(response.url.with_user(None).with_query(None).with_fragment(None))
        target = self._redacted(place.removesuffix(COMPLETIONS), 200)
        return ModelStatusError(
            status,
            f"{self.base_url} answered with HTTP {status}: it redirects to {target}; if that is "
            "its new address, set it",
        )

    def _status_error(
        self,
        status: int,
        headers: Mapping[str, str],
        content: bytes,
        *,
        is_of_answer: bool = False,
    ) -> ModelError:
        complaint = read_complaint(content)
        complaint_text = self._redacted(complaint[0], 300) or "it says nothing more"
        if not status:
            return ModelReplyError(
                f"{self.base_url} answered with HTTP 200 and an error: {complaint_text}"
            )
        how = f"HTTP 200 and the error {status}" if is_of_answer else f"HTTP {status}"
        text = f"{self.base_url} answered with {how}: {complaint_text}"
        if is_of_model(complaint):
            return ModelReplyError(text)
        if is_too_long(status, complaint):
            return ContextLengthError(status, text)
        retry_header = headers.get("retry-after", "")
        return ModelStatusError(
            # Nobody's question causes this, so it counts like the 404 of other services.
            404 if is_unfit(status, complaint) else status,
            text,
            retry_after=read_retry_after(retry_header, datetime.now(UTC)),
            is_used_up=is_used_up(complaint),
            is_of_answer=is_of_answer,
        )

    def _redacted(self, text: str, limit: int) -> str:
        """One line of text for staff, without the API key."""
        # Replaced before the line is cut: the cut might leave half of the key.
        line = one_line(text, len(text) + 1)
        return one_line(line.replace(self._key, "***") if self._key else line, limit)


async def _read_bounded(response: aiohttp.ClientResponse, most: int) -> bytes:
    # The announced length may be missing or wrong, and a compressed body grows as it is unpacked,
    # so the bytes received count.
    announced = response.content_length or 0
    if announced > most:
        raise _too_large(f"announces {announced} bytes", most)
    parts: list[bytes] = []
    received = 0
    async for part in response.content.iter_any():
        received += len(part)
        if received > most:
            raise _too_large("goes on and on", most)
        parts.append(part)
    return b"".join(parts)


def _too_large(what: str, most: int) -> ReplyTooLargeError:
    return ReplyTooLargeError(
        f"the answer {what}; {most} is the most that is read (EVENNIA_AI_MAX_REPLY_BYTES)"
    )
