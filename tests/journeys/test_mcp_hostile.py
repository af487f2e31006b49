"""A running game's MCP server under attack, and over reloads."""

import asyncio
import contextlib
import json
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.endpoints import programs
from tests.journeys.clients import PASSWORD, Enter, Player
from tests.journeys.game import Game
from tests.journeys.mcp_client import (
    PING,
    WAIT_SECONDS,
    Staff,
    game_settings,
    port,
    reader,
    token,
    writer,
)
from tests.journeys.web import PAGE, Web, assert_page_may_ask

__all__ = ("game_settings", "port", "reader", "writer")

CALLS = 100


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (421, {"Host": "evil.example"}),
        (421, {"Host": "127.0.0.1.evil.example:80"}),
        (403, {"Origin": "http://evil.example"}),
        (403, {"Origin": "http://localhost:8080"}),
        (403, {"Origin": "null"}),
        (400, {"Content_Type": "text/plain"}),
    ],
)
def test_a_name_or_a_page_that_is_not_known_is_refused(
    reader: Staff, status: int, headers: dict[str, str]
) -> None:
    """A valid token is not enough: it may come from a browser that another page misuses."""
    assert status == reader.raw(**headers).status


@pytest.mark.parametrize(
    "sent", ["", "Bearer", "Bearer eai_guess", "Basic YWRtaW46YWRtaW4=", "Bearer " + "x" * 4000]
)
def test_without_a_token_nobody_comes_in(reader: Staff, sent: str) -> None:
    answer = reader.raw(Authorization=sent)
    assert (401, "Bearer") == (answer.status, answer.headers["WWW-Authenticate"])
    assert {"code", "message"} == set(json.loads(answer.text)["error"])


def test_a_player_does_not_come_in(enter: Enter, game: Game, port: int) -> None:
    """The server is for staff, whatever the scope of a player's token."""
    enter("Vera")
    player = Staff(port, token(game, "write", "Vera", PASSWORD))
    answer = player.raw()
    assert 403 == answer.status
    assert "staff" in answer.text


def test_a_token_that_is_revoked_is_worth_nothing_at_once(game: Game, port: int) -> None:
    mine = token(game, "write")
    web = Web(game.ports.web, mine)
    headers = {"Authorization": f"Bearer {mine}"}
    with httpx2.Client(headers=headers, timeout=WAIT_SECONDS) as client:
        ask = {"json": PING, "headers": {"Accept": "application/json, text/event-stream"}}
        url = f"http://127.0.0.1:{port}/mcp"
        assert 200 == client.post(url, **ask).status_code
        web.get_done("DELETE", "token/")
        assert 401 == client.post(url, **ask).status_code


def test_a_page_that_is_named_may_ask(reader: Staff) -> None:
    """A browser asks first, without the token, whether the page may send it."""
    wants = {"Origin": PAGE, "Access_Control_Request_Headers": "authorization,mcp-method"}
    first = reader.raw(method="OPTIONS", Authorization="", Content_Type="", **wants)
    assert_page_may_ask(first, "authorization,mcp-method")
    assert_page_may_ask(reader.raw(Origin=PAGE))
    refused = reader.raw(method="OPTIONS", Origin="https://evil.example")
    assert (403, None) == (refused.status, refused.headers["Access-Control-Allow-Origin"])


def test_only_requests_to_its_address_are_served(reader: Staff) -> None:
    """No stream, no session and no other page is served."""
    assert (405, "POST, OPTIONS") == (
        (got := reader.raw(method="GET")).status,
        got.headers["Allow"],
    )
    assert 405 == reader.raw(method="DELETE").status
    assert 404 == reader.raw(path="/").status
    assert 404 == reader.raw(path="/mcp/../api").status


@pytest.mark.parametrize(
    "arguments",
    [
        {"assistant": "Ada\0"},
        {"assistant": "\ud800"},
        {"assistant": ["Ada"]},
        {"assistant": "Ada", "limit": 1e400},
        {"assistant": "Ada", "limit": -1},
        {"assistant": "Ada", "before": "1 OR 1=1"},
        {"assistant": "Ada", "event": ["x"] * 50},
        {"assistant": "Ada", "unheard": "of"},
        {"assistant": "../../health"},
        {},
    ],
)
def test_arguments_that_are_wrong_are_told_in_words(reader: Staff, arguments: Any) -> None:
    asked = {"name": "audit_log", "arguments": arguments}
    body = json.dumps({**PING, "method": "tools/call", "params": asked}).encode()
    answer = reader.raw(body)
    data = json.loads(answer.text)
    assert "error" in data or data["result"]["isError"], data
    assert "Traceback" not in answer.text


def test_bodies_out_of_all_proportion_are_refused(reader: Staff) -> None:
    ten = b'{"jsonrpc": "2.0", "id": 1, "method": "' + b"x" * 10_000_000 + b'"}'
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it closes early
        assert 413 == reader.raw(ten).status
    deep = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"health","arguments":'
    answer = reader.raw(deep + b'{"a":' * 1000 + b"1" + b"}" * 1000 + b"}}")
    assert answer.status < 500
    assert 200 == reader.raw().status


def test_a_hundred_calls_at_once_leave_the_game_its_time(admin: Player, reader: Staff) -> None:
    async def flood() -> list[Any]:
        headers = {
            "Authorization": f"Bearer {reader.token}",
            "Accept": "application/json, text/event-stream",
        }
        asked = {"name": "audit_log", "arguments": {"assistant": "Ada", "limit": 20}}
        body = {**PING, "method": "tools/call", "params": asked}
        limits = httpx2.Limits(max_connections=CALLS)
        async with httpx2.AsyncClient(headers=headers, timeout=60, limits=limits) as http:
            sent = (http.post(reader.url, json=body) for _ in range(CALLS))
            return await asyncio.gather(*sent)

    with ThreadPoolExecutor(1) as pool:
        flooding = pool.submit(asyncio.run, flood())
        admin.ask("assistant status ada", "Ada")
        answers = flooding.result()
    assert {200} == {answer.status_code for answer in answers}
    results = [answer.json()["result"] for answer in answers]
    assert not [each for each in results if each.get("isError")]


def test_connections_that_say_nothing_keep_nobody_out(reader: Staff) -> None:
    held = [socket.create_connection(("127.0.0.1", reader.port)) for _ in range(60)]
    begun = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{reader.port}\r\nContent-Length: 1000\r\n"
        f"Content-Type: application/json\r\nAuthorization: Bearer {reader.token}\r\n\r\n{{"
    )
    for each in held[:30]:
        each.sendall(begun.encode())
    try:
        assert 200 == reader.raw().status
    finally:
        for each in held:
            each.close()


def test_a_reload_and_a_kill_are_gone_over(game: Game, reader: Staff) -> None:
    """The next server takes over the port, and the client need not notice."""
    assert "ok" == reader.told("health")["status"]
    for end in (game.reload, game.crash):
        end()
        _wait(reader)
        assert "ok" == reader.told("health")["status"]


def _wait(staff: Staff) -> None:
    ends_at = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < ends_at:
        try:
            staff.raw()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the MCP server did not come back")


def _inspect(staff: Staff, *more: str) -> Any:
    command = [*programs.INSPECTOR, "--cli", staff.url, "--transport", "http"]
    header = ("--header", f"Authorization: Bearer {staff.token}")
    done = subprocess.run([*command, *header, *more], capture_output=True, text=True, timeout=120)
    assert 0 == done.returncode, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(
    not Path(programs.INSPECTOR[1]).is_file(), reason="`make endpoints` gets the MCP inspector"
)
def test_the_official_inspector_finds_nothing_wrong(reader: Staff, writer: Staff) -> None:
    listed = _inspect(writer, "--method", "tools/list", "--strict")["tools"]
    assert set(writer.tools()) == {tool["name"] for tool in listed}
    call = ("--method", "tools/call", "--tool-name", "assistant_status")
    answer = _inspect(reader, *call, "--tool-arg", "assistant=Ada")
    assert "Ada" == answer["structuredContent"]["key"]
