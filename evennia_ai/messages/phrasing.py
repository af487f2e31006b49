"""Model text as an assistant may say it: by its settings, by who is present, and as an emote.

In games with Evennia's rpsystem everything that is said, whispered or done is an emote, which is
parsed before it is sent: it names people by references, and marks languages. Model text must not be
parsed so: it is turned into words that contain none of that.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

from django.conf import settings
from evennia.objects.objects import DefaultCharacter

from evennia_ai.core.text.cleaning import clean_speech
from evennia_ai.core.text.phrasing import Phrased, StageDirections, phrase
from evennia_ai.core.typed_objects import GameObject
from evennia_ai.runtime import names, state

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
    own = _own_names(speaker)
    others = tuple(_others(speaker)) if ":" in words else ()
    found = phrase(words, own, others, wish)
    if kind == POSE:
        return Phrased(found.words.replace("*", ""))
    if kind == SEEN_BY_ALL and wish is StageDirections.EMOTE:
        return found
    # Beside a whisper, page or channel a pose would tell the room more than the words do, so it is
    # dropped, or said in brackets if there is nothing else.
    return Phrased(found.words or in_brackets(found))


def in_brackets(found: Phrased) -> str:
    """Stage directions as words, for where they can be nothing else; "" for none."""
    done = ", ".join(filter(None, (found.before, found.after)))
    return f"({done})" if done else ""


def _read(speaker: GameObject, name: str) -> Any:
    script = getattr(speaker, "assistant_script", None)
    return state.read(script, name) if script is not None else state.DEFAULTS[name]


def _directions(speaker: GameObject) -> StageDirections:
    """The setting for stage directions; an unknown value counts as not set."""
    stored = _read(speaker, "stage_directions")
    known = stored in tuple(StageDirections)
    return StageDirections(stored if known else state.DEFAULTS["stage_directions"])


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
        if isinstance(being, DefaultCharacter) and being is not speaker:
            yield from names.called(being, speaker)


Send = Callable[..., None]

_PREFIX = re.escape(getattr(settings, "RPSYSTEM_EMOTE_PREFIX", "/"))
_REFERENCE = re.compile(rf"({_PREFIX})(?=\w)")
_BARE_SELF = re.compile(r"@(?!\w)")
# rpsystem reads quotes as speech in a language, and fails on a brace in the text.
_PLAIN = str.maketrans({'"': "'", "“": "'", "”": "'", "{": "(", "}": ")"})
_ENDS = (".", "?", "!", '"', "…")


def emote_of(character: GameObject) -> Send | None:
    """The function that sends a character's emotes; None where the game's speech is no emote."""
    if not names.has_description(character):
        return None
    # Looked up next to the class, because a game may use a copy of rpsystem of its own.
    modules = (sys.modules.get(kind.__module__) for kind in type(character).__mro__)
    found = (getattr(module, "send_emote", None) for module in modules)
    return next(filter(None, found), None)


def as_words(text: str) -> str:
    """Text in which an emote finds no reference, language or placeholder."""
    # An invisible word joiner separates the sign of a reference from its word.
    text = _REFERENCE.sub("\\1\u2060", text.translate(_PLAIN))
    return _BARE_SELF.sub("\uff20", text)


def as_sentence(action: str) -> str:
    """A pose with the full stop that the game's own command adds."""
    return action if action.endswith(_ENDS) else f"{action}."
