"""Texts for the user about a game: addresses, owner, what to type, status."""

from __future__ import annotations

import re
import time

from server.play import brain, credentials, door, game, ports
from server.play.layout import Checkout

PORT_NAMES = {"telnet": "TELNET_PORT", "web": "WEB_PORT", "websocket": "WEBSOCKET_PORT"}
BETTER_BRAIN = "A better one: docs/models.md"


def opened(checkout: Checkout, kept: dict[str, object], *, shows_password: bool) -> str:
    """Return the greeting after a start.

    Args:
        checkout: whose game.
        kept: the stored choices of this start: ports, BIND, brain, admin.
        shows_password: whether to show a generated password, which is done only once.
    """
    openings = ports.choose({}, kept)
    host = "localhost" if openings.host == ports.LOOPBACK else openings.host
    site = f"http://{host}:{openings.web}"
    lines = [
        "",
        "  The Lantern Library is open.",
        f"    web client   {site}/webclient      telnet   {host} {openings.telnet}",
        f"    workbench    {site}/ai/   what they do and cost, and the stop, for the admin",
        f"    admin        {_account(checkout, str(kept.get('admin', 'admin')), shows_password)}",
        f"    brain        {kept.get('brain', '')}",
        "  Try:   whisper ada = what is this place?",
        "  Stop:  make stop",
    ]
    if openings.address != ports.LOOPBACK:
        lines.insert(-2, f"    open to      everybody who can reach {openings.address}")
    return "\n".join((*lines, *_wrong_settings(kept)))


def status(checkout: Checkout) -> str:
    """Return the lines of `make status`: running parts, their age, ports."""
    kept = ports.read_choices(checkout.choices)
    openings = ports.choose({}, kept)
    present = game.running(checkout)
    lines = [f"  {part:<8} {_part(checkout, part, present.get(part, []))}" for part in game.PARTS]
    lines.append(f"  {'model':<8} {_model(checkout, kept)}")
    listed = ", ".join(f"{name} {openings.numbers[key]}" for name, key in PORT_NAMES.items())
    lines.append(f"  {'ports':<8} {listed}, on {openings.address}")
    if not present:
        lines.append("  To start it: make play")
    elif obstacle := door.obstacle(openings):
        lines.append(f"  It does not answer: {obstacle}.")
        lines.append("  To mend it: make restart    To see why: make logs")
    else:
        lines += _wrong_settings(kept)
    return "\n".join(lines)


def _wrong_settings(kept: dict[str, object]) -> list[str]:
    """Return lines about settings that keep every assistant from answering, if any."""
    wrong = kept.get("wrong_settings")
    mend = "Correct it in server/conf/, then: make restart"
    return [f"  No assistant can answer: {wrong}", f"  {mend}"] if wrong else []


def in_brief(world: str) -> str:
    """Return the counts in the sentence of `build_world`: `5 rooms, ...`."""
    return ", ".join(re.findall(r"\d+ (?:rooms?|assistants?)", world))


def left_out(world: str) -> str:
    """Return what is missing and why, from the sentence of `build_world`, or ""."""
    return " ".join(re.findall(r"\w+ is not there: .*", world))


def age(seconds: float) -> str:
    """Return a duration as hours, minutes and seconds: `26:03:09`."""
    minutes, second = divmod(int(seconds), 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02d}:{minute:02d}:{second:02d}"


def _account(checkout: Checkout, username: str, shows_password: bool) -> str:
    written = credentials.read(checkout.credentials)
    if written is None or written.username != username:
        return f"{username} / the password it was made with"
    place = checkout.credentials.relative_to(checkout.root)
    if shows_password:
        return f"{username} / {written.password}  (also in {place})"
    return f"{username} / password in {place}"


def _part(checkout: Checkout, part: str, pids: list[int]) -> str:
    if not pids:
        return "not running"
    since = game.started_at(checkout, part)
    return f"running (process {max(pids)}" + (f", up {age(time.time() - since)})" if since else ")")


def _model(checkout: Checkout, kept: dict[str, object]) -> str:
    described = str(kept.get("brain", "not chosen yet: make play"))
    if not kept.get("brain_is_ours"):
        return described
    return f"{'running' if brain.is_running(checkout) else 'not running'}: {described}"
