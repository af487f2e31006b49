"""Ears for a being of the game whose own class has none: it hears, and stays what it is.

Nothing of this is stored. The being keeps its typeclass in the database and in all that looks at
it; in memory it stands on a class made of its own and `AssistantMixin` for as long as an assistant
is in it. Each start puts the ears on anew, and without this package they are simply not there.
"""

from __future__ import annotations

from typing import Any

from evennia_ai.assistant_character import AssistantMixin

_OWN = "class_without_ears"
# Handlers that Evennia keeps on an object and that a class with ears makes otherwise.
_HANDLERS = ("permissions",)
_MADE: dict[type, type] = {}
_set_class = object.__dict__["__class__"].__set__


def give_ears(body: Any) -> None:
    """Let a being hear; one whose own class can is left as it is."""
    if not isinstance(body, AssistantMixin):
        _turn_into(body, with_ears(type(body)))


def take_ears(body: Any) -> None:
    """Let a being be of its own class again; one that has ears by its own class keeps them."""
    own = getattr(type(body), _OWN, None)
    if own is not None:
        _turn_into(body, own)


def with_ears(own: type) -> type:
    """A class of the game with ears: one for each, made when it is first asked for.

    It is no model of Django's and no typeclass of its own: nothing is registered under its name, no
    list of typeclasses shows it, and whoever asks one of its instances for the class gets the
    game's. So signals of that class are sent, searches by it find it, and what is kept of an
    instance names it.
    """
    if own not in _MADE:
        namespace = {
            "__module__": own.__module__,
            "__qualname__": own.__qualname__,
            "__doc__": own.__doc__,
            "__class__": property(_shown_class, _change_class),
            _OWN: own,
        }
        _MADE[own] = type.__new__(type(own), own.__name__, (AssistantMixin, own), namespace)
    return _MADE[own]


def _shown_class(body: Any) -> type:
    own: type = getattr(type(body), _OWN)
    return own


def _change_class(body: Any, own: type) -> None:
    """Another typeclass for the body, as Evennia's command `typeclass` gives it; the ears stay."""
    _turn_into(body, own if issubclass(own, AssistantMixin) else with_ears(own))


def _turn_into(body: Any, kind: type) -> None:
    _set_class(body, kind)
    for name in _HANDLERS:
        body.__dict__.pop(name, None)
