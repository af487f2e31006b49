"""The body of an assistant: Evennia's hooks, passed on to `agent.hearing`. No rules here.

`AssistantMixin` gives any class of a game the ears of an assistant. `AssistantCharacter`, the body
that an assistant gets where nobody names another, is the game's own character class with it.
`give_ears` lets a being of the game hear whose own class has no ears. Nothing of that is stored: it
keeps its typeclass in the database, and in memory it stands on a class made of its own and
`AssistantMixin` for as long as an assistant is in it.
"""

from __future__ import annotations

import re
import sys
import threading
from typing import TYPE_CHECKING, Any

from django.conf import settings
from evennia.accounts.accounts import DefaultAccount
from evennia.objects.objects import DefaultCharacter
from evennia.utils import logger
from evennia.utils.utils import class_from_module, lazy_property
from twisted.internet.defer import Deferred

from evennia_ai.agent import hearing, requests
from evennia_ai.core.typed_objects import Account, Being, Channel, GameObject
from evennia_ai.runtime.rights import decides
from evennia_ai.runtime.rights.lending import LentPermissions

IS_AI_LINE = "({name} is an AI.)"
_SAYS_AI = re.compile(r"\(an AI\)|\bis an AI\b|[,.] an AI\b", re.IGNORECASE)
_OWN_CLASS = "class_without_ears"
# Handlers that Evennia keeps on an object and that a class with ears makes otherwise.
_HANDLERS = ("permissions",)
_MADE: dict[type, type] = {}
# A class of `with_ears` has a `__class__` of its own, which a plain assignment would call.
_set_class = object.__dict__["__class__"].__set__


_Typeclass: Any = object  # where the mixin stands there is one behind it


class AssistantMixin(_Typeclass):
    """Gives any object typeclass the ears of an assistant; put it before the typeclass.

    What a game's class does in its hooks stays: each of them is called, and what it does not let
    in is not heard. While no assistant is in it, an object with it is as one without.
    """

    assistant_script: Any = None

    @lazy_property
    def permissions(self) -> LentPermissions:
        """Its permissions; by an order no more than those of whoever gave it."""
        return LentPermissions(self)

    def at_idmapper_flush(self) -> bool:
        """True where Evennia may drop it from memory: never while an assistant is in it."""
        return bool(super().at_idmapper_flush()) and self.assistant_script is None

    def can_act(self) -> bool | str:
        """True where it can act now; for a game to override, or to have on a class without ears.

        Returns:
            True; or False, as while it lies dead: it neither speaks nor moves then. A text is a no
            too, and what people are told who speak to it; {name} in it is what it is called.
        """
        own = getattr(super(), "can_act", True)
        return own() if callable(own) else own

    def access(
        self, accessing_obj: Being, access_type: str = "read", default: bool = False, **kwargs: Any
    ) -> bool:
        """A lock's answer to somebody; where the body has none, one of its assistant's decides."""
        script, kind = self.assistant_script, access_type
        holder: Any = super()
        if script is not None and decides(script, kind) and not self.locks.get(kind):
            holder = script
        return bool(holder.access(accessing_obj, kind, default=default, **kwargs))

    def at_object_delete(self) -> bool:
        """Let its assistant go before the game deletes it: that keeps what it knows."""
        is_let = bool(super().at_object_delete())
        script = self.assistant_script
        # The script may have been deleted before, or moved into another body.
        if is_let and script is not None and script.pk is not None and script.obj == self:
            script.lose_body()
        return is_let

    def at_msg_receive(self, text: object = None, from_obj: object = None, **kwargs: Any) -> Any:
        """Hear a message that the game lets in, and pass it on to a player who watches."""
        is_let_in = super().at_msg_receive(text=text, from_obj=from_obj, **kwargs)
        if is_let_in and self.assistant_script is not None:
            try:
                hearing.hear(self, text, from_obj, kwargs)
            except Exception:
                logger.log_trace(f"[assistant] {self} could not hear a message")
        return is_let_in

    @property
    def is_connected(self) -> bool:
        """True where channels reach it, which ask who is connected: an assistant always is."""
        return self.assistant_script is not None or super().is_connected

    def at_pre_channel_msg(self, message: str, channel: Channel, **kwargs: Any) -> str:
        """Let the bare words through: a listener that returns nothing here silences the rest."""
        return message

    def channel_msg(
        self, message: str, channel: Channel, senders: object = None, **kwargs: Any
    ) -> None:
        """Hear a channel, and show it to a player who watches through these eyes."""
        script = self.assistant_script
        if script is not None:
            try:
                hearing.hear_channel(script, message, channel, senders, kwargs)
            except Exception:
                logger.log_trace(f"[assistant] {self} could not hear the channel {channel}")
        # An account that listens itself is sent the line already.
        if self.sessions.count() and not channel.subscriptions.has(self.account):
            line = DefaultAccount.at_pre_channel_msg(self, message, channel, senders, **kwargs)
            self.msg(text=(line, {"from_channel": channel.id}))

    def at_post_channel_msg(self, message: str, channel: Channel, **kwargs: Any) -> None:
        """Nothing more to do; channels call it."""

    def ask(
        self,
        question: str,
        *,
        asker: Being | None = None,
        timeout_seconds: float | None = None,
        name: str = "",
    ) -> Deferred[str]:
        """Ask the assistant in this body something, from game code: `agent.requests.ask`."""
        script = self.assistant_script
        return requests.ask(
            script, question, asker=asker, timeout_seconds=timeout_seconds, name=name
        )

    def at_assistant_said(self, text: str, **kwargs: Any) -> None:
        """It has said something, in whatever way; for a game to override.

        Args:
            text: as it was sent: what would be markup in it is shown as text.
            kwargs: `source`, `to` and `is_private`, as of the signal `assistant_said`.
        """

    def at_assistant_stopped(self, reason: str, **kwargs: Any) -> None:
        """It was stopped, or stopped itself, and may not act; for a game to override.

        Args:
            kwargs: `cause` and `by`, as of the signal `assistant_stopped`.
        """

    def at_post_unpuppet(
        self, account: Account | None = None, session: object = None, **kwargs: Any
    ) -> None:
        """Stay when a player leaves this body, where a character would leave the game."""
        if self.assistant_script is None:
            super().at_post_unpuppet(account, session=session, **kwargs)

    def get_display_desc(self, looker: GameObject, **kwargs: Any) -> str:
        """The description that people see; that it is an AI is always said."""
        desc = str(super().get_display_desc(looker, **kwargs))
        if self.assistant_script is None or _SAYS_AI.search(desc):
            return desc
        return f"{desc} {IS_AI_LINE.format(name=self.get_display_name(looker))}"


HearsForAssistant = AssistantMixin  # as it was called first

NAME = "AssistantCharacter"
EARLY = (
    "{path} is asked for while {module} is still being imported, so assistants stand on {base} "
    "instead. Import `AssistantMixin` there, which needs no class of yours, or import it further "
    "down than your class."
)
# Reentrant: to find the game's class imports its module, which may ask for ours again.
_BUILDING = threading.RLock()


class _AssistantBody(_Typeclass):
    """The locks of the default body, which it has beside ears."""

    def at_object_creation(self) -> None:
        """Nobody may pick an assistant up or puppet it by accident."""
        super().at_object_creation()
        self.locks.add("get:false();puppet:perm(Admin)")


if TYPE_CHECKING:

    class AssistantCharacter(_AssistantBody, AssistantMixin, DefaultCharacter):
        """A character that an AssistantScript moves; it stands on the game's own class."""


def __getattr__(name: str) -> Any:
    """Build `AssistantCharacter` when it is first asked for (PEP 562).

    The game's class is not there earlier: its module may import this one.
    """
    if name != NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    with _BUILDING:
        # Another thread may have been first; instances of two such classes would not be alike.
        if NAME not in globals():
            globals()[NAME] = _build(_base())
        return globals()[NAME]


def _base() -> type:
    """The class of the game's characters; Evennia's own where it cannot be had."""
    path, fallback = settings.BASE_CHARACTER_TYPECLASS, settings.FALLBACK_CHARACTER_TYPECLASS
    module, _, name = path.rpartition(".")
    # A game may name this very class as its own, and it cannot stand on itself.
    if path == f"{__name__}.{NAME}":
        path = fallback
    elif _is_half_imported(module, name):
        ours = f"{__name__}.{NAME}"
        logger.log_warn(f"[assistant] {EARLY.format(path=ours, module=module, base=fallback)}")
        path = fallback
    found: type = class_from_module(path, settings.TYPECLASS_PATHS, fallback)
    return found


def _is_half_imported(module: str, name: str) -> bool:
    loaded = sys.modules.get(module)
    spec = getattr(loaded, "__spec__", None)
    # The import system sets it while the module's code runs; nothing public tells as much.
    return bool(getattr(spec, "_initializing", False)) and not hasattr(loaded, name)


def _build(base: type) -> type:
    """The default body on a class; one that has ears already needs no more."""
    bases = (base,) if issubclass(base, AssistantMixin) else (AssistantMixin, base)
    namespace = {
        "__module__": __name__,
        "__qualname__": NAME,
        "__doc__": "A character that an AssistantScript moves; it stands on the game's own class.",
    }
    # By the metaclass, as a `class` statement: it is a typeclass, and Django knows it.
    return type(base)(NAME, (_AssistantBody, *bases), namespace)


def give_ears(body: GameObject) -> None:
    """Let a being hear; one whose own class can is left as it is."""
    if not isinstance(body, AssistantMixin):
        _turn_into(body, with_ears(type(body)))


def take_ears(body: GameObject) -> None:
    """Let a being be of its own class again; one that has ears by its own class keeps them."""
    own = getattr(type(body), _OWN_CLASS, None)
    if own is not None:
        _turn_into(body, own)


def with_ears(own: type) -> type:
    """A class of the game with ears: one for each, made when it is first asked for.

    It is neither a Django model nor a typeclass of its own: nothing is registered under its name,
    no list of typeclasses shows it, and whoever asks one of its instances for the class gets the
    game's. So signals of that class are sent, searches by it find it, and what is kept of an
    instance names it.
    """
    if own not in _MADE:
        namespace = {
            "__module__": own.__module__,
            "__qualname__": own.__qualname__,
            "__doc__": own.__doc__,
            "__class__": property(_shown_class, _change_class),
            _OWN_CLASS: own,
        }
        # Past the metaclass, which would register another model with Django.
        _MADE[own] = type.__new__(type(own), own.__name__, (AssistantMixin, own), namespace)
    return _MADE[own]


def _shown_class(body: GameObject) -> type:
    own: type = getattr(type(body), _OWN_CLASS)
    return own


def _change_class(body: GameObject, own: type) -> None:
    """Another typeclass for the body, as Evennia's command `typeclass` gives it; the ears stay."""
    _turn_into(body, own if issubclass(own, AssistantMixin) else with_ears(own))


def _turn_into(body: GameObject, kind: type) -> None:
    _set_class(body, kind)
    # Evennia keeps a handler in the instance once it is made; the new class makes its own.
    for name in _HANDLERS:
        body.__dict__.pop(name, None)
