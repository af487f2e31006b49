"""Speech in games with Evennia's rpsystem, where whatever is said, whispered or done is an emote.

An emote is read before it is sent: it names people by references, and marks languages. Each who
receives it sees the names and understands the words that are theirs to see and understand. What a
model wrote is no emote: here it is made into words that none of that is read into.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

from django.conf import settings

from evennia_ai.core.typed_objects import GameObject
from evennia_ai.runtime import names

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
