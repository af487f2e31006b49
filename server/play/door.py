"""Whether a player can get in: knocking at the game's telnet and web ports as a client would."""

from __future__ import annotations

import http.client
import re
import socket
import time

from server.play.ports import Openings

KNOCK_TIMEOUT_SECONDS = 5.0
# Evennia's side of telnet's conversation: IAC WILL or IAC DO, and an option.
OFFERS = re.compile(rb"\xff([\xfb\xfd])(.)", re.DOTALL)
REFUSALS = {b"\xfb": b"\xfe", b"\xfd": b"\xfc"}


def is_open(openings: Openings) -> bool:
    """Tell whether a player could log in: telnet greets, and the web answers."""
    return not obstacle(openings)


def obstacle(openings: Openings) -> str:
    """Say in a few words what keeps a player out, or return "" if nothing does."""
    web = ask_web(openings.host, openings.web)
    if web != http.HTTPStatus.OK:
        return f"the web client {f'answers with error {web}' if web else 'does not answer'}"
    if not greets(openings.host, openings.telnet):
        return "telnet does not show the login screen"
    return ""


def greets(host: str, port: int) -> bool:
    """Tell whether a telnet port shows the screen that says how to log in."""
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
                # A client that leaves Evennia's offers open is greeted only after two seconds.
                for verb, option in OFFERS.findall(chunk):
                    line.sendall(b"\xff" + REFUSALS[verb] + option)
    except OSError:
        return False
    return False


def ask_web(host: str, port: int) -> int:
    """Ask for the web client's page; return the HTTP status, or 0 if nobody answers."""
    web = http.client.HTTPConnection(host, port, timeout=KNOCK_TIMEOUT_SECONDS)
    try:
        web.request("GET", "/webclient/")
        return web.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        web.close()
