"""The way to a chat completions API: the openai SDK on the asyncio loop, bridged to Deferreds."""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Protocol
from urllib.parse import urlsplit

import httpx2
import openai
from twisted.internet.defer import Deferred

from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.typed_objects import Reactor
from evennia_ai.errors import (
    ContextLengthError,
    ModelConnectionError,
    ModelError,
    ModelReplyError,
    ModelStatusError,
    ReplyTooLargeError,
)
from evennia_ai.llm.bridge import as_deferred
from evennia_ai.llm.complaints import is_too_long, is_used_up, read_complaint
from evennia_ai.llm.offers import encode
from evennia_ai.llm.rate_limits import RateLimitInfo, read_rate_limits
from evennia_ai.resilience.retry import read_retry_after

AS_JSON: openai.RequestOptions = {"headers": {"Content-Type": "application/json"}}
# Of a completion, its thoughts included, and of every other answer, such as a list of models.
LARGEST_REPLY_BYTES = 1_000_000
LARGEST_ANSWER_BYTES = 4_000_000
COMPLETIONS = "/chat/completions"
CONNECT_SECONDS = 10.0
MOST_CONNECTIONS = 2000
NOT_SENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.LocalProtocolError,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
)


class Transport(Protocol):
    """Sends one request body and gives the answer's bytes.

    It may also have `rate_limit_info`, what its last answer said of limits, and `close()`.
    """

    def post(self, body: Mapping[str, Any]) -> Deferred[bytes]:
        """Ask for one completion. Cancelling drops the request.

        Raises:
            ModelError: it did not work.
        """


def _root_cause(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    return one_line(str(error), 2000) or type(error).__name__


def _was_sent(error: BaseException | None) -> bool:
    """True where a request may have reached the service although no answer came."""
    while error is not None:
        if isinstance(error, NOT_SENT):
            return False
        error = error.__cause__
    return True


def _is_this_machine(base_url: str) -> bool:
    """True for a loopback address: no proxy can reach that for us."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class OpenAITransport:
    """A chat completions endpoint.

    The SDK's generic `post` is used, with the raw response: building its typed objects costs three
    times what everything else does. Its own retries are off, since retry and deadline are the
    client's.

    Args:
        reactor: where Deferreds fire.
        most_bytes: of a reply; of a longer one nothing is read.

    Attributes:
        rate_limit_info: what the last answer that spoke of limits said. They belong to the key,
            so they are the same for all who ask with it.
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
        self._key = api_key
        self._reactor = reactor
        limits = httpx2.Limits(
            max_connections=MOST_CONNECTIONS, max_keepalive_connections=MOST_CONNECTIONS
        )
        timeout = httpx2.Timeout(None, connect=CONNECT_SECONDS)
        http = openai.DefaultAioHttpClient(
            limits=limits, timeout=timeout, trust_env=not _is_this_machine(base_url)
        )
        http.event_hooks["response"].append(partial(_bound, most_bytes))
        if not api_key:
            http.event_hooks["request"].append(_omit_authorization)
        self._client = openai.AsyncOpenAI(
            api_key=api_key or "none",
            base_url=base_url,
            max_retries=0,
            timeout=timeout,
            http_client=http,
            default_headers=dict(headers),
        )

    def post(self, body: Mapping[str, Any]) -> Deferred[bytes]:
        """Ask for one completion."""
        return as_deferred(self._request("POST", COMPLETIONS, body), self._reactor)

    def models(self) -> Deferred[bytes]:
        """Ask which models the endpoint has."""
        return as_deferred(self._request("GET", "/models", None), self._reactor)

    def close(self) -> Deferred[None]:
        """Close the connections."""
        return as_deferred(self._client.close(), self._reactor)

    async def _request(self, method: str, path: str, body: Mapping[str, Any] | None) -> bytes:
        try:
            if method == "GET":
                response = await self._client.get(path, cast_to=httpx2.Response)
            else:
                response = await self._client.post(
                    path, cast_to=httpx2.Response, content=encode(body or {}), options=AS_JSON
                )
            self._note_limits(response.headers)
            return bytes(response.content)
        except openai.APIStatusError as error:
            self._note_limits(error.response.headers)
            raise self._status_error(error.response) from None
        except openai.APIConnectionError as error:
            cause = self._shown(_root_cause(error), 160)
            text = f"no connection to {self.base_url}: {cause}"
            raise ModelConnectionError(text, was_sent=_was_sent(error)) from None
        except ModelError:
            raise
        except Exception as error:
            cause = self._shown(_root_cause(error), 160)
            raise ModelReplyError(
                f"the answer of {self.base_url} cannot be read: {cause}"
            ) from None

    def _note_limits(self, headers: Mapping[str, str]) -> None:
        self.rate_limit_info = read_rate_limits(headers) or self.rate_limit_info

    def _status_error(self, response: httpx2.Response) -> ModelStatusError:
        status, complaint = response.status_code, read_complaint(response.content)
        said = self._shown(complaint[0], 300) or "it says nothing more"
        text = f"{self.base_url} answered with HTTP {status}: {said}"
        if is_too_long(status, complaint):
            return ContextLengthError(status, text)
        asked = response.headers.get("retry-after", "")
        retry_after = read_retry_after(asked, datetime.now(UTC))
        used_up = is_used_up(complaint)
        return ModelStatusError(status, text, retry_after=retry_after, is_used_up=used_up)

    def _shown(self, text: str, limit: int) -> str:
        """Text for staff, without the key: hidden before the cut, or half of it would show."""
        line = one_line(text, len(text) + 1)
        return one_line(line.replace(self._key, "***") if self._key else line, limit)


async def _omit_authorization(request: httpx2.Request) -> None:
    """Send no key where there is none; the SDK insists on one."""
    request.headers.pop("Authorization", None)


async def _bound(most_bytes: int, response: httpx2.Response) -> None:
    """Read no more than any completion needs, whatever the answer announces."""
    is_reply = response.request.url.path.endswith(COMPLETIONS)
    most = most_bytes if is_reply else LARGEST_ANSWER_BYTES
    announced = response.headers.get("content-length", "0")
    if announced.isdigit() and (len(announced) > 20 or int(announced) > most):
        raise _too_large(f"announces {announced[:20]} bytes", most)
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _BoundedStream(response.stream, most)


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, most: int) -> None:
        self._inner = inner
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received = 0
        async for part in self._inner:
            received += len(part)
            if received > self._most:
                raise _too_large("goes on and on", self._most)
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()


def _too_large(what: str, most: int) -> ReplyTooLargeError:
    return ReplyTooLargeError(
        f"the answer {what}; {most} is the most that is read (EVENNIA_AI_MAX_REPLY_BYTES)"
    )
