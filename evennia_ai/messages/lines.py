"""Lines as the game shows them, and model text as an assistant may say it.

Speech is cut out of the game's lines, and model text is put into them. Text is only ever cut here,
never believed: its options say what a line is. Model text is phrased by the assistant's settings
and by who is present.

In games with Evennia's rpsystem everything that is said, whispered or done is an emote, which is
parsed before it is sent: it names people by references, and marks languages. Model text must not be
parsed so: it is turned into words that contain none of that.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import evennia
from django.conf import settings
from evennia.utils.ansi import strip_ansi
from twisted.internet.interfaces import IWriteDescriptor

from evennia_ai.core.hearing.unmarked import BEFORE_NAME
from evennia_ai.core.text.cleaning import clean_speech
from evennia_ai.core.text.phrasing import Phrased, StageDirections, phrase
from evennia_ai.core.text.words import SENTENCE_ENDS
from evennia_ai.core.typed_objects import GameObject
from evennia_ai.runtime import names, state

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
    its frame: `<Tom> hello`, `[Tom] hello`, `Tom: hello`, `Tom says: hello`. Marks or a time may
    stand before all of it.
    """
    line = plain(rendered)
    bare = BEFORE_NAME.sub("", line)
    inside = _BRACKETED.match(bare)
    if inside and inside[1].strip().casefold() == name.casefold():
        return bare[inside.end() :]
    is_named = bool(name) and bare.casefold().startswith(name.casefold())
    rest = cut_name(bare if is_named else line, name)
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


POSE = "pose"
# The one kind of speech in which everybody who hears the words also sees a pose.
SEEN_BY_ALL = "say"


def phrased(text: str, kind: str, speaker: GameObject) -> Phrased:
    """Model text for one kind of speech: plain words, with actions before and after them.

    Args:
        kind: say, whisper, page, channel or pose. In a pose everything is done, and starred words
            stay.
    """
    words = clean_speech(text, speaker=speaker.key)
    if not _read(speaker, "plain_speech"):
        return Phrased(words)
    wish = StageDirections.KEEP if kind == POSE else _directions(speaker)
    # Names count in front of a colon, and between the stars of a direction.
    own = _own_names(speaker) if ":" in words or "*" in words else ()
    others = tuple(_others(speaker)) if ":" in words else ()
    speech = phrase(words, own, others, wish)
    if kind == POSE:
        return Phrased(speech.words.replace("*", ""))
    if kind == SEEN_BY_ALL and wish is StageDirections.EMOTE:
        return speech
    # Beside a whisper, page or channel a pose would tell the room more than the words do, so it is
    # dropped, or said in brackets if there is nothing else.
    return Phrased(speech.words or in_brackets(speech))


def in_brackets(speech: Phrased) -> str:
    """Stage directions as words, for where they can be nothing else; "" for none."""
    done = ", ".join(filter(None, (speech.before, speech.after)))
    return f"({done})" if done else ""


def _read(speaker: GameObject, name: str) -> Any:
    script = getattr(speaker, "assistant_script", None)
    return state.read(script, name) if script is not None else state.DEFAULTS[name]


def _directions(speaker: GameObject) -> StageDirections:
    """The setting for stage directions; an unknown value counts as not set."""
    try:
        return StageDirections(_read(speaker, "stage_directions"))
    except ValueError:
        return StageDirections(state.DEFAULTS["stage_directions"])


def _own_names(speaker: GameObject) -> tuple[str, ...]:
    script = getattr(speaker, "assistant_script", None)
    own = [str(speaker.key)]
    if script is not None:
        own += [str(script.key), *names.called(speaker, speaker)]
    return tuple(dict.fromkeys(own))


def _others(speaker: GameObject) -> Iterator[str]:
    """The names of everybody else whom the speaker sees in the room."""
    place = getattr(speaker, "location", None)
    for being in place.contents if place is not None else ():
        if being is not speaker and names.is_character(being):
            yield from names.called(being, speaker)


Send = Callable[..., None]

_PREFIX = re.escape(getattr(settings, "RPSYSTEM_EMOTE_PREFIX", "/"))
_REFERENCE = re.compile(rf"({_PREFIX})(?=\w)")
_BARE_SELF = re.compile(r"@(?!\w)")
# rpsystem reads quotes as speech in a language, and fails on a brace in the text.
_PLAIN = str.maketrans({'"': "'", "“": "'", "”": "'", "{": "(", "}": ")"})


def emote_of(character: GameObject) -> Send | None:
    """The function that sends a character's emotes; None where the game's speech is no emote."""
    if not names.has_description(character):
        return None
    # Looked up next to the class, because a game may use a copy of rpsystem of its own.
    modules = (sys.modules.get(kind.__module__) for kind in type(character).__mro__)
    senders = (getattr(module, "send_emote", None) for module in modules)
    return next(filter(None, senders), None)


def as_words(text: str) -> str:
    """Text in which an emote finds no reference, language or placeholder."""
    # An invisible word joiner separates the sign of a reference from its word.
    text = _REFERENCE.sub("\\1\u2060", text.translate(_PLAIN))
    return _BARE_SELF.sub("\uff20", text)


def as_sentence(action: str) -> str:
    """A pose with the full stop that the game's own command adds."""
    return action if action.endswith((*SENTENCE_ENDS, '"')) else f"{action}."
