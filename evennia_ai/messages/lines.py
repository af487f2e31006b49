"""Lines as the game shows them: what of them is speech, and what a model wrote put in as text.

Text is only ever cut here, never believed: what a line is its options say.
"""

from __future__ import annotations

import re

import evennia
from django.conf import settings
from evennia.utils.ansi import strip_ansi
from twisted.internet.interfaces import IWriteDescriptor

_SINGLE = {"'": "'", "\u2018": "\u2019"}
_CLOSING = {'"': '"', "“": "”", "«": "»", "„": "“", **_SINGLE}
# A whisper in Evennia's rpsystem: the hook before speech gives an emote, and nobody reads it.
_UNREAD_EMOTE = re.compile(
    rf'{re.escape(getattr(settings, "RPSYSTEM_EMOTE_PREFIX", "/"))}me\s+\w+,?\s+"(.*)"\Z',
    re.IGNORECASE | re.DOTALL,
)
# Frames of speech without quotation marks: the name in brackets, or a mark or one verb behind it.
_BRACKETED = re.compile(r"[<\[({*]([^<>\[\](){}*]+)[>\])}*]:?\s+")
_FRAME = re.compile(r"(?:[^\W\d_A-Z][^\W\d_]*)?[:>]\s+")
_LINK = re.compile(r"\b([hfw])(ttps?|tp|ww)(?=://|\.)", re.IGNORECASE)


def literal(text: str) -> str:
    """Text in a form that Evennia's markup leaves alone.

    A doubled `|` is shown as one, but the marks of clickable links (`|lc`, `|lt`, `|lu`, `|le`) are
    looked for after that, and would run a command with one click: an invisible blank parts them.
    An address such as `https://`, of which the web client would make a link, is parted by a joiner,
    at which no line is broken. Of `{{` Evennia would take one brace away, so it is doubled too.
    Where the game evaluates `$func()` in all that it sends, that is escaped too.
    """
    if settings.FUNCPARSER_PARSE_OUTGOING_MESSAGES_ENABLED:
        text = text.replace("$", "\\$")
    text = _LINK.sub("\\1\u2060\\2", text)
    return text.replace("|l", "|\u200bl").replace("|", "||").replace("{{", "{{{{")


def plain(rendered: str) -> str:
    """A rendered line without its markup."""
    return strip_ansi(rendered) if "|" in rendered or "\x1b" in rendered else rendered


def cut_speech(rendered: str, name: str) -> str:
    """The speech inside a rendered line such as `Tom whispers: "|nhello|n"`.

    What stands between the first quotation mark after the speaker's name and the last one, be they
    double or single as in `Tom says 'hello'`; without marks, everything after the name and what
    frames it: `<Tom> hello`, `[Tom] hello`, `Tom: hello`, `Tom says: hello`.
    """
    rest = cut_name(rendered, name)
    inside = _BRACKETED.match(rest)
    if inside and inside[1].strip().casefold() == name.casefold():
        return rest[inside.end() :]
    opened = next((i for i, ch in enumerate(rest) if ch in _CLOSING and _opens(rest, i)), None)
    if opened is not None:
        closed = rest.rfind(_CLOSING[rest[opened]])
        if closed > opened:
            return rest[opened + 1 : closed].strip()
    frame = _FRAME.match(rest)
    return rest[frame.end() :] if frame else rest


def _opens(line: str, at: int) -> bool:
    """True where a mark begins a speech: an apostrophe does if its partner ends the line."""
    mark = line[at]
    if mark not in _SINGLE:
        return True
    return (not at or line[at - 1].isspace()) and line.endswith(_CLOSING[mark])


def without_emote(speech: str) -> str:
    """The words of a speech that is an emote which nobody read, such as `/Me whispers "hello"`."""
    unread = _UNREAD_EMOTE.match(speech)
    return unread[1].strip() if unread else speech


def cut_name(rendered: str, name: str) -> str:
    """A rendered line without its markup and without the name it begins with."""
    line = plain(rendered)
    is_first = name and line[: len(name)].casefold() == name.casefold()
    return (line[len(name) :] if is_first else line).strip()


def send_now() -> None:
    """Hand what was said to the portal, which outlives the server.

    Until the reactor turns it waits in this process; a server that is killed by then would know
    that it was said, and nobody would have heard it.
    """
    service = evennia.EVENNIA_SERVER_SERVICE
    line = getattr(service and service.amp_protocol, "transport", None)
    if line is None or not IWriteDescriptor.providedBy(line):
        return
    if line.connected and not line.disconnecting and line.doWrite() is not None:
        line.startWriting()  # so that the reactor finds what failed
