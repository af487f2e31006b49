"""A model's text as an assistant may say it: by its settings, by who stands there, and as an emote.

In games with Evennia's rpsystem whatever is said, whispered or done is an emote, which is read
before it is sent: it names people by references, and marks languages. What a model wrote is no
emote: it is made into words that none of that is read into.
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
# Where all who hear what is said see what is done.
SEEN_BY_ALL = "say"


def phrased(text: str, kind: str, speaker: GameObject) -> Phrased:
    """A model's text for one way to speak: plain words, with what is done before and after them.

    Without its room a stage direction would tell more people than the words do, so beside a
    whisper, a page and a channel it is dropped. Where nothing else was written it is said in
    brackets.

    Args:
        kind: say, whisper, page, channel or pose. In a pose all is done, and starred words stay.
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
    return Phrased(found.words or in_brackets(found))


def in_brackets(found: Phrased) -> str:
    """Stage directions as words, for where they can be nothing else; "" for none."""
    done = ", ".join(filter(None, (found.before, found.after)))
    return f"({done})" if done else ""


def _read(speaker: GameObject, name: str) -> Any:
    script = getattr(speaker, "assistant_script", None)
    return state.read(script, name) if script is not None else state.DEFAULTS[name]


def _directions(speaker: GameObject) -> StageDirections:
    """The setting; what code stored there and is none of its words counts as not set."""
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
    """The names of those whom the speaker sees where it is."""
    place = getattr(speaker, "location", None)
    for being in place.contents if place is not None else ():
        if isinstance(being, DefaultCharacter) and being is not speaker:
            yield from names.called(being, speaker)


Send = Callable[..., None]

_PREFIX = re.escape(getattr(settings, "RPSYSTEM_EMOTE_PREFIX", "/"))
_REFERENCE = re.compile(rf"({_PREFIX})(?=\w)")
_ONESELF = re.compile(r"@(?!\w)")
# Quotes begin a language, and braces a reference; rpsystem breaks at a brace of its own text.
_PLAIN = str.maketrans({'"': "'", "“": "'", "”": "'", "{": "(", "}": ")"})
_ENDS = (".", "?", "!", '"', "…")


def emote_of(character: GameObject) -> Send | None:
    """The function by which a character's game sends emotes; None where speech is no emote there.

    It stands beside the class, also where a game has a copy of its own.
    """
    if not names.has_description(character):
        return None
    modules = (sys.modules.get(kind.__module__) for kind in type(character).__mro__)
    found = (getattr(module, "send_emote", None) for module in modules)
    return next(filter(None, found), None)


def as_words(text: str) -> str:
    """Text of which an emote makes no reference, no language and no placeholder.

    An invisible joiner parts the sign of a reference from its word.
    """
    text = _REFERENCE.sub("\\1\u2060", text.translate(_PLAIN))
    return _ONESELF.sub("\uff20", text)


def as_sentence(action: str) -> str:
    """A pose with the full stop that the game's own command gives it."""
    return action if action.endswith(_ENDS) else f"{action}."
