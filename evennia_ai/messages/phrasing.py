"""A model's text as an assistant may say it: by its settings, and by who stands there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
