"""Lines as the game shows them: speech is cut out of them, and model text is put into them.

Text is only ever cut here, never believed: its options say what a line is.
"""

from __future__ import annotations

import re

import evennia
from django.conf import settings
from evennia.utils.ansi import strip_ansi
from twisted.internet.interfaces import IWriteDescriptor

from evennia_ai.runtime import names

_SINGLE = {"'": "'", "\u2018": "\u2019"}
_CLOSING = {'"': '"', "“": "”", "«": "»", "„": "“", **_SINGLE}
# A whisper in Evennia's rpsystem: `at_pre_say` returns an emote, which is never parsed.
_UNREAD_EMOTE = re.compile(
    rf'{re.escape(getattr(settings, "RPSYSTEM_EMOTE_PREFIX", "/"))}me\s+\w+,?\s+"(.*)"\Z',
    re.IGNORECASE | re.DOTALL,
)
# Speech without quotation marks: the name in brackets, or followed by a sign or by one verb.
_BRACKETED = re.compile(r"[<\[({*]([^<>\[\](){}*]+)[>\])}*]:?\s+")
_FRAME = re.compile(r"(?:[^\W\d_A-Z][^\W\d_]*)?[:>]\s+")
# Beginnings of addresses that Evennia's web client turns into links.
_LINK = re.compile(r"\b([hfw])(ttps?|tp|ww)(?=://|\.)", re.IGNORECASE)


def literal(text: str) -> str:
    """Escape text so that Evennia's markup leaves it alone."""
    # Where the game evaluates `$func()` in everything that it sends.
    if settings.FUNCPARSER_PARSE_OUTGOING_MESSAGES_ENABLED:
        text = text.replace("$", "\\$")
    # A word joiner breaks up `https://`, which the web client would turn into a link.
    text = _LINK.sub("\\1\u2060\\2", text)
    if names.ADDED_MARKUP is not None:
        text = names.ADDED_MARKUP.sub(lambda mark: f"{mark[0][0]}\u200b{mark[0][1:]}", text)
    # Evennia shows `||` as `|`, but looks for the marks of clickable links (`|lc`, `|lt`, `|lu`,
    # `|le`) after that: one click would run a command. A zero-width space breaks them up. Of `{{`
    # it removes one brace, so it is doubled.
    return text.replace("|l", "|\u200bl").replace("|", "||").replace("{{", "{{{{")


def plain(rendered: str) -> str:
    """A rendered line without its markup."""
    return strip_ansi(rendered) if names.has_markup(rendered) else rendered


def cut_speech(rendered: str, name: str) -> str:
    """The speech inside a rendered line such as `Tom whispers: "|nhello|n"`.

    That is what stands between the first quotation mark after the speaker's name and the last one,
    double or single, as in `Tom says 'hello'`. Without marks it is everything after the name and
    its frame: `<Tom> hello`, `[Tom] hello`, `Tom: hello`, `Tom says: hello`.
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
    """True where a mark begins a speech; an apostrophe does only if its partner ends the line."""
    mark = line[at]
    if mark not in _SINGLE:
        return True
    return (not at or line[at - 1].isspace()) and line.endswith(_CLOSING[mark])


def without_emote(speech: str) -> str:
    """The words of a speech that is an unparsed emote, such as `/Me whispers "hello"`."""
    unread = _UNREAD_EMOTE.match(speech)
    return unread[1].strip() if unread else speech


def cut_name(rendered: str, name: str) -> str:
    """A rendered line without its markup and without the name that it begins with."""
    line = plain(rendered)
    is_first = name and line[: len(name)].casefold() == name.casefold()
    return (line[len(name) :] if is_first else line).strip()


def send_now() -> None:
    """Write what was said to the portal, which outlives the server."""
    # Until the reactor turns, it is only buffered in this process. If the server were killed by
    # then, the audit log would say that it was said, and nobody would have heard it.
    service = evennia.EVENNIA_SERVER_SERVICE
    line = getattr(service and service.amp_protocol, "transport", None)
    if line is None or not IWriteDescriptor.providedBy(line):
        return
    if line.connected and not line.disconnecting and line.doWrite() is not None:
        line.startWriting()  # so that the reactor finds what failed
