"""Checks whether a player can log in, by connecting to the telnet and web ports as a client."""

from __future__ import annotations

import http.client
import re
import socket
import time
from collections.abc import Collection
from dataclasses import dataclass

from server.play import processes
from server.play.ports import STEP, Openings, purpose

KNOCK_TIMEOUT_SECONDS = 5.0
OUR_SERVER = "TwistedWeb"
# Another program's header is shown in our message.
LONGEST_SERVER_NAME = 60
# Evennia's telnet negotiation: IAC WILL or IAC DO, and an option.
OFFERS = re.compile(rb"\xff([\xfb\xfd])(.)", re.DOTALL)
REFUSALS = {b"\xfb": b"\xfe", b"\xfd": b"\xfc"}


@dataclass(frozen=True)
class WebAnswer:
    """The answer of a web port to a request for the web client's page.

    Attributes:
        status: the HTTP status, 0 if nobody answers.
        server: the `Server` header.
    """

    status: int
    server: str = ""


def is_open(openings: Openings) -> bool:
    """Return whether a player could log in: telnet shows its screen, and the web answers."""
    return not obstacle(openings)


def obstacle(openings: Openings) -> str:
    """Return in a few words what keeps a player out, or ""."""
    web = ask_web(openings.host, openings.web)
    if not is_ours(web):
        return f"port {openings.web} (web) is answered by {web.server}, which is not this game"
    if web.status != http.HTTPStatus.OK:
        return f"the web client {_described(web)}"
    if not greets(openings.host, openings.telnet):
        return "telnet does not show the login screen"
    return ""


def is_ours(web: WebAnswer) -> bool:
    """Return whether an answer may come from this game, judged by the `Server` header."""
    return not web.status or not web.server or web.server.startswith(OUR_SERVER)


def foreign_listener(openings: Openings, ours: Collection[int]) -> str:
    """Return which other program has a port of this game, and what to do; "" if there is none.

    Args:
        openings: the game's ports.
        ours: the process ids of the game.
    """
    for name, port in openings.numbers.items():
        pids = set(processes.listeners(port))
        web = ask_web(openings.host, port) if name == "WEB_PORT" else WebAnswer(0)
        if (not pids or pids.intersection(ours)) and is_ours(web):
            continue
        holder = processes.holder_of_port(port) or "another program"
        described = f", which {_described(web)}" if web.status else ""
        choice = f"make play {name}={port + STEP}"
        return (
            f"Port {port} ({purpose(name)}) is used by {holder}{described}: that is not this game."
            f" Stop it, or choose another port: {choice}"
        )
    return ""


def _described(web: WebAnswer) -> str:
    if not web.status:
        return "does not answer"
    kind = "answers" if web.status == http.HTTPStatus.OK else f"answers with error {web.status}"
    return kind if not web.server or is_ours(web) else f"{kind} as {web.server}"


def greets(host: str, port: int) -> bool:
    """Return whether a telnet port shows the login screen."""
    deadline = time.monotonic() + KNOCK_TIMEOUT_SECONDS
    received = b""
    try:
        with socket.create_connection((host, port), timeout=KNOCK_TIMEOUT_SECONDS) as line:
            while time.monotonic() < deadline:
                chunk = line.recv(4096)
                received += chunk
                if b"connect" in received:
                    return True
                if not chunk:
                    return False
                # Evennia waits two seconds for an answer to its offers before it greets a client.
                for verb, option in OFFERS.findall(chunk):
                    line.sendall(b"\xff" + REFUSALS[verb] + option)
    except OSError:
        return False
    return False


def ask_web(host: str, port: int) -> WebAnswer:
    """Ask for the web client's page."""
    web = http.client.HTTPConnection(host, port, timeout=KNOCK_TIMEOUT_SECONDS)
    try:
        web.request("GET", "/webclient/")
        answer = web.getresponse()
        named = answer.getheader("Server") or "a server that does not say its name"
        return WebAnswer(answer.status, named[:LONGEST_SERVER_NAME])
    except OSError:
        return WebAnswer(0)
    except http.client.HTTPException:
        return WebAnswer(http.HTTPStatus.NOT_IMPLEMENTED, "a program that does not speak HTTP")
    finally:
        web.close()
