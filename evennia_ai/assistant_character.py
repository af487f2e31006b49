"""The body of an assistant: Evennia's hooks, forwarded to `agent.hearing`.

`AssistantMixin` lets any typeclass of a game hear for an assistant. `AssistantCharacter`, the
default body, is the game's own character class with that mixin. `give_ears` does the same for an
existing object whose class lacks the mixin: while an assistant is in it, its class in memory is a
generated subclass of its own class and `AssistantMixin`. Nothing of that is stored: the typeclass
in the database stays the same.
"""

from __future__ import annotations

import inspect
import re
import sys
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.conf import settings
from evennia.accounts.accounts import DefaultAccount
from evennia.objects.objects import DefaultCharacter
from evennia.utils import logger
from evennia.utils.utils import class_from_module, lazy_property
from twisted.internet.defer import Deferred

from evennia_ai.agent import game_speech, hearing, requests
from evennia_ai.core.typed_objects import Account, Being, Channel, GameObject
from evennia_ai.runtime.rights import decides
from evennia_ai.runtime.rights.lending import LentPermissions

IS_AI_LINE = "({name} is an AI.)"
_SAYS_AI = re.compile(r"\(an AI\)|\bis an AI\b|[,.] an AI\b", re.IGNORECASE)
_OWN_CLASS = "class_without_ears"
# Handlers that Evennia caches on an instance and that the mixin replaces.
_HANDLERS = ("permissions",)
# The generated subclass with the mixin, by the class of the game that it derives from.
_EARED: dict[type, type] = {}
# Classes from `with_ears` define a `__class__` property, which a plain assignment would call.
_set_class = object.__dict__["__class__"].__set__


# To mypy the mixin has any base; at run time the typeclass comes after it in the MRO.
_Typeclass: Any = object


class AssistantMixin(_Typeclass):
    """Lets an object typeclass hear for an assistant; put it before the typeclass among the bases.

    Every hook calls the game's own, and what that rejects is not heard. While no assistant is in
    the object, it behaves as one without the mixin.
    """

    assistant_script: Any = None

    @lazy_property
    def permissions(self) -> LentPermissions:
        """Its permissions; while it acts on an order, no more than the giver has."""
        return LentPermissions(self)

    def at_idmapper_flush(self) -> bool:
        """Tell Evennia whether it may drop the object from memory."""
        return bool(super().at_idmapper_flush()) and self.assistant_script is None

    def can_act(self) -> bool | str:
        """Say whether it can act now; for a game to override, or to define on a class without ears.

        Returns:
            True; or False, as while it lies dead: then it neither speaks nor moves. A string also
            means no, and is shown to players who speak to it; {name} in it stands for its name.
        """
        # A game may define it behind the mixin, as a method or as a plain attribute.
        own = getattr(super(), "can_act", True)
        return own() if callable(own) else own

    def access(
        self,
        accessing_obj: Being,
        access_type: str = "read",
        default: bool = False,
        no_superuser_bypass: bool = False,
        **kwargs: Any,
    ) -> bool:
        """Answer a lock check; where the body has no such lock, the assistant's own may decide."""
        script, kind = self.assistant_script, access_type
        holder: Any = super()
        if script is not None and not self.locks.get(kind) and decides(script, kind):
            holder = script
        if no_superuser_bypass:
            kwargs["no_superuser_bypass"] = True
        return bool(holder.access(accessing_obj, kind, default=default, **kwargs))

    def at_object_delete(self) -> bool:
        """Let the assistant go before the game deletes its body: it keeps what it knows."""
        is_let = bool(super().at_object_delete())
        script = self.assistant_script
        # The script may have been deleted before, or moved into another body.
        if is_let and script is not None and script.pk is not None and script.obj == self:
            script.lose_body()
        return is_let

    def at_msg_receive(self, text: object = None, from_obj: object = None, **kwargs: Any) -> Any:
        """Hear a message that the game lets in; Evennia then shows it to a player who watches."""
        is_let_in = True  # also where the game's own hook fails: Evennia logs that and goes on
        try:
            is_let_in = super().at_msg_receive(text=text, from_obj=from_obj, **kwargs)
        finally:
            if is_let_in and self.assistant_script is not None:
                # The game let the message in: a fault of ours must not keep it from the player.
                try:
                    hearing.hear(self, text, from_obj, kwargs)
                except Exception:
                    logger.log_trace(f"[assistant] {self} could not hear a message")
        return is_let_in

    @property
    def is_connected(self) -> bool:
        """True where channels reach it."""
        # Channels send only to subscribers that are connected, and an assistant has no session.
        return self.assistant_script is not None or super().is_connected

    def at_pre_channel_msg(self, message: str, channel: Channel, **kwargs: Any) -> str:
        """Return the message unchanged."""
        # Evennia drops a message for a listener whose hook returns nothing.
        return message

    def channel_msg(
        self, message: str, channel: Channel, senders: object = None, **kwargs: Any
    ) -> None:
        """Hear a channel message, and show it to a player who watches through this body."""
        script = self.assistant_script
        if script is not None:
            try:
                hearing.hear_channel(script, message, channel, senders, kwargs)
            except Exception:
                logger.log_trace(f"[assistant] {self} could not hear the channel {channel}")
        # An account that is subscribed itself has received the line already.
        if self.sessions.count() and not channel.subscriptions.has(self.account):
            line = DefaultAccount.at_pre_channel_msg(self, message, channel, senders, **kwargs)
            self.msg(text=(line, {"from_channel": channel.id}))

    def at_post_channel_msg(self, message: str, channel: Channel, **kwargs: Any) -> None:
        """Do nothing: channels call this hook on every listener."""

    def ask(
        self,
        question: str,
        *,
        asker: Being | None = None,
        timeout_seconds: float | None = None,
        name: str = "",
    ) -> Deferred[str]:
        """Ask the assistant in this body something from game code; see `agent.requests.ask`."""
        script = self.assistant_script
        return requests.ask(
            script, question, asker=asker, timeout_seconds=timeout_seconds, name=name
        )

    def at_talked_to(self, speech: str, character: GameObject) -> None:
        """Hear the command `talk` of Evennia's contrib `llm`, which is said aloud."""
        if self.assistant_script is not None:
            game_speech.hear(self, f"@{self.key} {speech}", character)
        else:
            self._call_own(super(), "at_talked_to", speech, {"character": character})

    def at_assistant_said(self, text: str, **kwargs: Any) -> None:
        """Called after the assistant said something, in whatever way; for a game to override.

        Args:
            text: as it was sent, with what would be markup escaped.
            kwargs: `source`, `to` and `is_private`, as with the signal `assistant_said`.
        """
        self._call_own(super(), "at_assistant_said", text, kwargs)

    def at_assistant_stopped(self, reason: str, **kwargs: Any) -> None:
        """Called after the assistant was stopped or stopped itself; for a game to override.

        Args:
            kwargs: `cause` and `by`, as with the signal `assistant_stopped`.
        """
        self._call_own(super(), "at_assistant_stopped", reason, kwargs)

    def _call_own(self, behind: Any, hook: str, text: str, named: Mapping[str, Any]) -> None:
        # A game may define the hook behind the mixin, as on its class of all characters.
        if (own := getattr(behind, hook, None)) is not None:
            own(text, **named)

    def at_post_unpuppet(
        self, account: Account | None = None, session: object = None, **kwargs: Any
    ) -> None:
        """Keep the body in its place when a player leaves it."""
        # Evennia's hook takes a character out of the game with its last session.
        if self.assistant_script is None:
            super().at_post_unpuppet(account, session=session, **kwargs)

    def get_display_desc(self, looker: GameObject, **kwargs: Any) -> str:
        """The description that players see; it always says that this is an AI."""
        desc = str(super().get_display_desc(looker, **kwargs) or "")  # some games have none
        if self.assistant_script is None or _SAYS_AI.search(desc):
            return desc
        return f"{desc} {IS_AI_LINE.format(name=self.get_display_name(looker))}".strip()


HearsForAssistant = AssistantMixin  # the earlier name, which games may import

NAME = "AssistantCharacter"
EARLY = (
    "{path} is asked for while {module} is still being imported, so assistants stand on {base} "
    "instead. Import `AssistantMixin` there, which needs no class of yours, or import it further "
    "down than your class."
)
# Reentrant: finding the game's class imports its module, which may ask for ours again.
_BUILDING = threading.RLock()


class _AssistantBody(_Typeclass):
    """The default locks of a body made for an assistant."""

    def at_object_creation(self) -> None:
        """Keep players from picking the assistant up or puppeting it by accident."""
        super().at_object_creation()
        self.locks.add("get:false();puppet:perm(Admin)")


if TYPE_CHECKING:

    class AssistantCharacter(_AssistantBody, AssistantMixin, DefaultCharacter):
        """A character that an AssistantScript moves, derived from the game's own class."""


def __getattr__(name: str) -> Any:
    """Build `AssistantCharacter` on first use (PEP 562)."""
    if name != NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Not at import: the module of the game's own class may be the one that imports this module.
    with _BUILDING:
        # Another thread may have built it first; two classes would split its instances.
        if NAME not in globals():
            globals()[NAME] = _build(_base())
        return globals()[NAME]


def _base() -> type:
    """The game's character class, or Evennia's own where that cannot be used."""
    path, fallback = settings.BASE_CHARACTER_TYPECLASS, settings.FALLBACK_CHARACTER_TYPECLASS
    module, _, name = path.rpartition(".")
    # A game may name this very class in its settings, and it cannot derive from itself.
    if path == f"{__name__}.{NAME}":
        path = fallback
    elif _is_half_imported(module, name):
        ours = f"{__name__}.{NAME}"
        logger.log_warn(f"[assistant] {EARLY.format(path=ours, module=module, base=fallback)}")
        path = fallback
    base: type = class_from_module(path, settings.TYPECLASS_PATHS, fallback)
    return base


def _is_half_imported(module: str, name: str) -> bool:
    loaded = sys.modules.get(module)
    spec = getattr(loaded, "__spec__", None)
    # Set by the import system while the module's code runs; there is no public equivalent.
    return bool(getattr(spec, "_initializing", False)) and not hasattr(loaded, name)


def _build(base: type) -> type:
    """Derive the default body from a class, which may have the mixin already."""
    bases = (base,) if issubclass(base, AssistantMixin) else (AssistantMixin, base)
    namespace = {
        "__module__": __name__,
        "__qualname__": NAME,
        "__doc__": "A character that an AssistantScript moves, derived from the game's own class.",
        **_own_ask(base),
    }
    # Through the metaclass, as a `class` statement would: Django must know it as a typeclass.
    return type(base)(NAME, (_AssistantBody, *bases), namespace)


def give_ears(body: GameObject) -> None:
    """Let an object hear for an assistant, unless its own class can already."""
    if not isinstance(body, AssistantMixin):
        _set_instance_class(body, with_ears(type(body)))


def take_ears(body: GameObject) -> None:
    """Restore an object's own class; one whose own class has the mixin is left as it is."""
    own = getattr(type(body), _OWN_CLASS, None)
    if own is not None:
        _set_instance_class(body, own)


def with_ears(own: type) -> type:
    """Return a subclass of a game's class with the mixin, built once for each class.

    It is neither a Django model nor a typeclass: nothing is registered under its name, no list of
    typeclasses shows it, and `__class__` of its instances is the game's class. So signals of that
    class are sent, searches by it find the instance, and what is stored about the instance names
    it.
    """
    if own not in _EARED:
        namespace = {
            "__module__": own.__module__,
            "__qualname__": own.__qualname__,
            "__doc__": own.__doc__,
            "__class__": property(_shown_class, _change_class),
            _OWN_CLASS: own,
            **_own_ask(own),
        }
        # Bypasses the metaclass, which would register another model with Django.
        _EARED[own] = type.__new__(type(own), own.__name__, (AssistantMixin, own), namespace)
    return _EARED[own]


def _own_ask(own: type) -> dict[str, Any]:
    """The `ask` of a game's class: its commands call that one, so ours must not replace it."""
    is_games = hasattr(own, "ask") and not issubclass(own, AssistantMixin)
    return {"ask": inspect.getattr_static(own, "ask")} if is_games else {}


def _shown_class(body: GameObject) -> type:
    own: type = getattr(type(body), _OWN_CLASS)
    return own


def _change_class(body: GameObject, own: type) -> None:
    """Change the typeclass, as Evennia's command `typeclass` does; the body keeps its ears."""
    _set_instance_class(body, own if issubclass(own, AssistantMixin) else with_ears(own))


def _set_instance_class(body: GameObject, kind: type) -> None:
    # Evennia's own swap rewrites the stored typeclass and runs creation hooks again.
    _set_class(body, kind)
    # A handler cached on the instance would outlive the class that made it.
    for name in _HANDLERS:
        body.__dict__.pop(name, None)
