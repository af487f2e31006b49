"""The HTTP transport, against servers that misbehave."""

import contextlib
import gzip
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any
from urllib.parse import urlsplit

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.selectreactor import SelectReactor
from twisted.internet.threads import blockingCallFromThread

from evennia_ai.errors import (
    ContextLengthError,
    ModelConnectionError,
    ModelError,
    ModelReplyError,
    ModelStatusError,
    ReplyTooLargeError,
)
from evennia_ai.llm.payments import may_be_charged
from evennia_ai.llm.rate_limits import RateLimitInfo
from evennia_ai.llm.replies import parse_reply
from evennia_ai.llm.transport import LARGEST_REPLY_BYTES, OpenAITransport
from tests.fakes.handle import FakeModel
from tests.llm.web import CHUNK, MOST_CHUNKS, BareServer, reply

KEY = "sk-abcdefghijklmnopqrstuvwxyz0123456789"
BODY = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
PATH = "/v1/chat/completions"

Make = Callable[..., OpenAITransport]


@pytest.fixture
def make(running_reactor: SelectReactor, model: FakeModel) -> Iterator[Make]:
    """Makes transports, which are closed after the test."""
    transports: list[OpenAITransport] = []

    def make_one(
        base_url: str = "", key: str = "", headers: Any = (), most_bytes: int = LARGEST_REPLY_BYTES
    ) -> OpenAITransport:
        url = base_url or model.base_url
        one = OpenAITransport(
            url, key, dict(headers), reactor=running_reactor, most_bytes=most_bytes
        )
        transports.append(one)
        return one

    yield make_one
    for transport in transports:
        blockingCallFromThread(running_reactor, transport.close)


@pytest.fixture
def post(running_reactor: SelectReactor) -> Callable[[OpenAITransport], bytes]:
    """Posts once and returns the answer."""

    def post_and_wait(transport: OpenAITransport) -> bytes:
        answer: bytes = blockingCallFromThread(running_reactor, transport.post, BODY)
        return answer

    return post_and_wait


def test_an_answer_comes_as_its_bytes(make: Make, post: Any, model: FakeModel) -> None:
    model.queue({"kind": "answer", "content": "Ding!"})
    assert "Ding!" == parse_reply(post(make()), "native").content
    (call,) = model.read_calls()
    assert (PATH, BODY) == (call["path"], call["body"])


def test_models_are_listed(make: Make, running_reactor: SelectReactor) -> None:
    listed = json.loads(blockingCallFromThread(running_reactor, make().models))
    assert ["scripted-model"] == [item["id"] for item in listed["data"]]


@pytest.mark.parametrize(("key", "expected"), [("", False), (KEY, True)])
def test_a_key_is_sent_only_when_there_is_one(
    make: Make, post: Any, model: FakeModel, key: str, expected: bool
) -> None:
    post(make(key=key))
    assert expected is model.read_calls()[0]["has_authorization"]


@pytest.mark.parametrize(("key", "expected"), [(KEY, "a *** b"), ("ollama", "a ollama b")])
def test_an_answer_does_not_repeat_the_key(make: Make, post: Any, key: str, expected: str) -> None:
    """What is no answer is quoted to staff: a page in place of one may hold the key."""
    with BareServer.running({PATH: reply(f"a {key} b")}) as server:
        assert expected == post(make(server.base_url, key=key)).decode()


def test_headers_of_a_provider_are_sent(make: Make, post: Any) -> None:
    with BareServer.running({PATH: reply("{}")}) as server:
        post(make(server.base_url, headers={"X-Title": "The Lantern Library"}))
    lines = server.heads[0].lower().split(b"\r\n")
    assert {b"x-title: the lantern library", b"user-agent: evennia-ai"} <= set(lines)


def test_nobody_listening_is_a_connection_error(make: Make, post: Any, model: FakeModel) -> None:
    model.refuse_connections()
    with pytest.raises(
        ModelConnectionError, match=f"no connection to {model.base_url}: "
    ) as caught:
        post(make())
    assert (True, False) == (caught.value.retryable, caught.value.was_sent)


def test_a_cut_connection_is_a_connection_error(make: Make, post: Any, model: FakeModel) -> None:
    """The request was sent by then, so the service may charge for it."""
    model.queue({"kind": "reset"})
    with pytest.raises(ModelConnectionError) as caught:
        post(make())
    assert (True, True) == (caught.value.retryable, caught.value.was_sent)


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 90\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
    ],
)
def test_an_answer_that_is_no_http_or_breaks_off_is_told_as_that(
    make: Make, post: Any, answer: bytes
) -> None:
    """It was told as "no connection: 400, message: ...", where somebody answered, and not so."""
    with BareServer.running({PATH: answer}) as server:
        with pytest.raises(ModelConnectionError) as caught:
            post(make(server.base_url))
        assert str(caught.value).startswith(f"the answer of {server.base_url} cannot be read: ")
    assert "400" not in str(caught.value)
    assert (True, True) == (caught.value.retryable, caught.value.was_sent)


@pytest.mark.parametrize("kind", ["html", "empty_object", "truncated"])
def test_a_wrong_body_is_handed_on_to_the_parser(
    make: Make, post: Any, model: FakeModel, kind: str
) -> None:
    model.queue({"kind": kind})
    body = post(make())
    with pytest.raises(ModelReplyError):
        parse_reply(body, "native")


def test_an_answer_under_a_wrong_type_is_read_all_the_same(
    make: Make, post: Any, model: FakeModel
) -> None:
    model.queue({"kind": "wrong_type"})
    assert parse_reply(post(make()), "native")


@pytest.mark.parametrize(
    ("status", "retryable"),
    [(400, False), (401, False), (404, False), (429, True), (500, True), (503, True)],
)
def test_an_error_status_is_an_error_with_its_status(
    make: Make, post: Any, model: FakeModel, status: int, retryable: bool
) -> None:
    model.queue({"kind": "status", "status": status})
    with pytest.raises(ModelStatusError, match=f"scripted error {status}") as caught:
        post(make())
    assert (status, retryable, None) == (
        caught.value.status,
        caught.value.retryable,
        caught.value.retry_after,
    )
    assert str(caught.value).startswith(f"{model.base_url} answered with HTTP {status}: ")


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        ("nan", None),
        ("inf", None),
        ("-1", 0.0),
        ("soon", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
    ],
)
def test_retry_after_is_read_as_seconds(
    make: Make, post: Any, header: str, expected: float | None
) -> None:
    answer = reply("{}", status="429 Too Many", headers=f"Retry-After: {header}\r\n")
    with BareServer.running({PATH: answer}) as server, pytest.raises(ModelStatusError) as caught:
        post(make(server.base_url))
    assert expected == caught.value.retry_after


def test_retry_after_may_be_a_date(make: Make, post: Any) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    answer = reply("{}", status="503 Busy", headers=f"Retry-After: {date}\r\n")
    with BareServer.running({PATH: answer}) as server, pytest.raises(ModelStatusError) as caught:
        post(make(server.base_url))
    assert 3500 < (caught.value.retry_after or 0.0) <= 3600


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_prompt_that_is_too_long_is_an_error_of_its_own(
    make: Make, post: Any, model: FakeModel, status: int
) -> None:
    body = json.dumps({"error": {"message": "prompt is too long: 9 tokens > 8 maximum"}})
    model.queue({"kind": "status", "status": status, "body": body})
    with pytest.raises(ContextLengthError, match="9 tokens > 8 maximum") as caught:
        post(make())
    error = caught.value
    assert (status, False, False) == (error.status, error.retryable, error.blames_service)


@pytest.mark.parametrize(
    ("expected", "body"),
    [
        pytest.param("the tool is unknown", '{"detail": "the tool is unknown"}', id="as FastAPI"),
        pytest.param("<h1>wrong</h1>", "<h1>wrong</h1>", id="a web page"),
        pytest.param("it says nothing more", "{}", id="nothing"),
    ],
)
def test_the_words_of_a_refusal_are_shown(
    make: Make, post: Any, model: FakeModel, expected: str, body: str
) -> None:
    model.queue({"kind": "status", "status": 418, "body": body})
    with pytest.raises(ModelStatusError) as caught:
        post(make())
    assert f"{model.base_url} answered with HTTP 418: {expected}" == str(caught.value)


def test_an_error_in_place_of_an_answer_is_one_of_its_status(make: Make, post: Any) -> None:
    """OpenRouter answers so, with HTTP 200, if a model fails after it began: it may be charged."""
    body = json.dumps({"error": {"code": 429, "message": "upstream is busy"}, "user_id": "u"})
    answer = reply(body, headers="Retry-After: 7\r\n")
    with BareServer.running({PATH: answer}) as server, pytest.raises(ModelStatusError) as caught:
        post(make(server.base_url))
    error = caught.value
    assert (429, 7.0, True, True) == (
        error.status,
        error.retry_after,
        error.retryable,
        may_be_charged(error),
    )
    expected = f"{server.base_url} answered with HTTP 200 and the error 429: upstream is busy"
    assert expected == str(error)


@pytest.mark.parametrize(
    ("body", "error", "expected"),
    [
        pytest.param(
            {"error": "Unexpected endpoint or method. (POST /chat/completions)"},
            ModelReplyError,
            "an error: Unexpected endpoint or method. (POST /chat/completions)",
            id="LM Studio, asked without /v1",
        ),
        pytest.param(
            {
                "choices": [
                    {
                        "error": {"code": 502, "message": "overloaded"},
                        "finish_reason": "error",
                        "message": {"content": "Good eve"},
                    }
                ]
            },
            ModelStatusError,
            "the error 502: overloaded",
            id="OpenRouter, in the choice",
        ),
    ],
)
def test_an_error_elsewhere_in_an_answer_is_told(
    make: Make, post: Any, body: Any, error: type[ModelError], expected: str
) -> None:
    answer = reply(json.dumps(body))
    with BareServer.running({PATH: answer}) as server, pytest.raises(error) as caught:
        post(make(server.base_url))
    assert f"{server.base_url} answered with HTTP 200 and {expected}" == str(caught.value)
    assert may_be_charged(caught.value)


@pytest.mark.parametrize("status", ["200 OK", "429 Too Many"])
def test_limits_of_the_last_answer_are_kept(make: Make, post: Any, status: str) -> None:
    """Refusals count as well; an answer without limits changes nothing."""
    limits = "X-RateLimit-Limit-Requests: 60\r\nx-ratelimit-remaining-requests: 0\r\n"
    answers = {PATH: reply("{}", status=status, headers=limits), "/v1/models": reply("{}")}
    with BareServer.running(answers) as server:
        transport = make(server.base_url)
        assert transport.rate_limit_info is None
        with contextlib.suppress(ModelStatusError):
            post(transport)
        blockingCallFromThread(transport._reactor, transport.models)
    assert RateLimitInfo(requests_limit=60, requests_remaining=0) == transport.rate_limit_info


@pytest.mark.parametrize(
    "text",
    [
        f"Incorrect API key provided: {KEY}",
        f"{'x' * 255} {KEY} after",
        f"the key is {KEY[:9]}\u200b{KEY[9:]}",
    ],
    ids=["echoed", "at the cut", "with an invisible character inside"],
)
def test_a_key_that_the_server_echoes_is_not_in_the_error(
    make: Make, post: Any, model: FakeModel, text: str
) -> None:
    """Not even a part of it may remain, wherever the text is cut."""
    body = json.dumps({"error": {"message": text}}, ensure_ascii=False)
    model.queue({"kind": "status", "status": 401, "body": body})
    with pytest.raises(ModelStatusError) as caught:
        post(make(key=KEY))
    assert KEY[:8] not in str(caught.value)
    assert [None, None] == [caught.value.__cause__, caught.value.__context__]


@pytest.mark.parametrize(
    ("is_of_service", "text"),
    [(True, "Your credit balance is too low."), (False, "Your request was filtered.")],
)
def test_a_used_up_account_is_the_services_trouble(
    make: Make, post: Any, model: FakeModel, is_of_service: bool, text: str
) -> None:
    """It locks no assistant, although the status blames the request."""
    body = json.dumps({"error": {"message": text}})
    model.queue({"kind": "status", "status": 400, "body": body})
    with pytest.raises(ModelStatusError) as caught:
        post(make())
    error = caught.value
    assert [is_of_service] * 2 == [error.is_of_service, error.blames_service]
    assert error.may_lock is not is_of_service


def test_a_huge_announced_answer_is_refused(make: Make, post: Any, model: FakeModel) -> None:
    model.queue({"kind": "huge", "size_bytes": 20_000_000})
    with pytest.raises(ModelReplyError, match=f"{LARGEST_REPLY_BYTES} is the most that is read"):
        post(make())


def test_an_answer_without_an_end_is_cut(make: Make, post: Any) -> None:
    """It announces no length, so it is read up to the limit and its socket closed."""
    with BareServer.running({PATH: CHUNK}) as server:
        with pytest.raises(
            ModelReplyError, match=f"{LARGEST_REPLY_BYTES} is the most that is read"
        ):
            post(make(server.base_url))
        assert server.ended.wait(10)
    assert MOST_CHUNKS > server.sent


def test_cancelling_closes_the_socket(
    make: Make, model: FakeModel, running_reactor: SelectReactor
) -> None:
    model.queue({"kind": "hang"})
    posted: list[Deferred[bytes]] = []
    outcomes: list[Any] = []

    def begin() -> None:
        posted.append(make().post(BODY).addBoth(outcomes.append))

    blockingCallFromThread(running_reactor, begin)
    model.wait_for_calls(1)
    blockingCallFromThread(running_reactor, posted[0].cancel)
    (call,) = model.wait_for_calls(1, closed=1)
    assert call["is_abandoned"]
    assert outcomes[0].check(CancelledError)


@pytest.mark.parametrize("name", ["HTTP_PROXY", "ALL_PROXY"])
def test_a_proxy_of_the_environment_does_not_stand_before_this_machine(
    make: Make, post: Any, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv(name.lower(), "http://127.0.0.1:9")
    assert parse_reply(post(make()), "native")


def test_without_certificates_nothing_is_sent(
    make: Make, post: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody pays for a request that never left this machine."""
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/at-all.pem")
    with pytest.raises(ModelConnectionError, match="no connection to https://") as caught:
        post(make("https://127.0.0.1:9/v1"))
    assert (True, False) == (caught.value.retryable, caught.value.was_sent)


def test_https_to_a_plain_server_is_told_in_words(make: Make, post: Any, model: FakeModel) -> None:
    """OpenSSL calls it WRONG_VERSION_NUMBER."""
    with pytest.raises(ModelConnectionError, match=r"does not speak https; .*write http://$"):
        post(make(model.base_url.replace("http:", "https:")))


@pytest.mark.parametrize("location", ["http://[broken/", "http:///nowhere", "ftp://model.test/"])
def test_what_is_sent_elsewhere_in_vain_was_sent(make: Make, post: Any, location: str) -> None:
    """The service that redirects has read the request by then."""
    answer = reply("{}", status="307 Temporary Redirect", headers=f"Location: {location}\r\n")
    with BareServer.running({PATH: answer}) as server:
        with pytest.raises(ModelConnectionError) as caught:
            post(make(server.base_url))
        assert 1 == len(server.heads)
    assert caught.value.was_sent


@pytest.mark.parametrize(
    ("location", "place"),
    [("/new/v1/chat/completions", "/new/v1"), ("/login?next=secret", "/login")],
)
def test_a_redirect_that_takes_no_post_is_told_by_its_place(
    make: Make, post: Any, location: str, place: str
) -> None:
    """After a 301 a POST becomes a GET, and what that is answered with tells nobody anything."""
    moved = reply("", status="301 Moved Permanently", headers=f"Location: {location}\r\n")
    with BareServer.running({PATH: moved, location: reply("{}")}) as server:
        root = server.base_url.removesuffix("/v1")
        with pytest.raises(ModelStatusError) as caught:
            post(make(server.base_url))
    error = caught.value
    assert f"answered with HTTP 301: it redirects to {root}{place}; if" in str(error)
    assert (301, True, False) == (error.status, error.is_of_service, error.retryable)


def test_a_redirect_to_itself_is_told(make: Make, post: Any) -> None:
    around = reply("", status="307 Temporary Redirect", headers=f"Location: {PATH}\r\n")
    again = pytest.raises(ModelConnectionError, match="it redirects again and again")
    with BareServer.running({PATH: around}) as server, again:
        post(make(server.base_url))


def test_a_call_that_a_service_could_not_read_is_no_fault_of_the_request(
    make: Make, post: Any
) -> None:
    """Groq refuses with 400 what its own model wrote."""
    said = '{"error": {"message": "Failed to call a function.", "code": "tool_use_failed"}}'
    refused = pytest.raises(ModelReplyError, match="HTTP 400: Failed to call a function")
    answer = reply(said, status="400 Bad Request")
    with BareServer.running({PATH: answer}) as server, refused as caught:
        post(make(server.base_url))
    assert not caught.value.may_lock


def test_a_model_that_is_not_there_counts_as_not_found(make: Make, post: Any) -> None:
    """With 400 it would count against whoever asks, and lock the assistant in the end."""
    said = '{"error": {"message": "Invalid model name passed in model=m", "code": "400"}}'
    answer = reply(said, status="400 Bad Request")
    refused = pytest.raises(ModelStatusError, match="HTTP 400: Invalid model name")
    with BareServer.running({PATH: answer}) as server, refused as caught:
        post(make(server.base_url))
    assert (404, True, False) == (
        caught.value.status,
        caught.value.is_of_service,
        caught.value.may_lock,
    )


def test_an_address_that_is_none_is_not_sent_to(make: Make, post: Any) -> None:
    with pytest.raises(ModelConnectionError) as caught:
        post(make("http://model.test:99999/v1"))
    assert not caught.value.was_sent


def test_a_proxy_is_asked_with_the_password_of_its_address(
    make: Make, post: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = "http://model.test/v1"
    with BareServer.running({f"{url}/chat/completions": reply("{}")}) as proxy:
        port = urlsplit(proxy.base_url).port
        monkeypatch.setenv("http_proxy", f"http://me:secret@127.0.0.1:{port}")
        monkeypatch.delenv("no_proxy", raising=False)
        assert b"{}" == post(make(url))
    assert b"Proxy-Authorization: Basic bWU6c2VjcmV0" in proxy.heads[0].split(b"\r\n")


def test_every_failure_is_one_of_ours(make: Make, post: Any) -> None:
    transport = make()
    with pytest.raises(ModelError):
        blockingCallFromThread(transport._reactor, transport.post, {"messages": object()})


@pytest.mark.parametrize("size", [999, 1000, 1001])
def test_hole_c17_of_a_reply_that_is_too_long_nothing_is_read(
    make: Make, post: Any, size: int
) -> None:
    with BareServer.running({PATH: reply("x" * size)}) as server:
        transport = make(server.base_url, most_bytes=1000)
        if size <= 1000:
            assert b"x" * size == post(transport)
            return
        with pytest.raises(ReplyTooLargeError, match=r"1000 is .*MAX_REPLY_BYTES"):
            post(transport)


def test_a_reply_is_as_long_as_it_is_unpacked(make: Make, post: Any) -> None:
    """A few compressed bytes may unpack to more than the limit."""
    packed = gzip.compress(b"x" * 100_000)
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n"
    with BareServer.running({PATH: head.encode() + packed}) as server:
        assert b"x" * 100_000 == post(make(server.base_url))
        with pytest.raises(ReplyTooLargeError, match="goes on and on; 1000 is the most"):
            post(make(server.base_url, most_bytes=1000))


def test_hole_c17_a_list_of_models_may_be_longer(
    make: Make, running_reactor: SelectReactor
) -> None:
    """The limit is for replies; lists are only requested by hand."""
    with BareServer.running({"/v1/models": reply("x" * 2000)}) as server:
        transport = make(server.base_url, most_bytes=1000)
        assert b"x" * 2000 == blockingCallFromThread(running_reactor, transport.models)
