"""Names of beings as somebody sees them: no other name gets into a prompt, a line or a list.

In a game with short descriptions, masks and recognition a key is a secret. A being's own
`get_display_name` says what whoever looks may know; everything here asks it. Where a class has
Evennia's own, all see the key, and nothing is asked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from hashlib import sha256
from typing import Any, TypeVar

from evennia.accounts.accounts import DefaultAccount
from evennia.objects.objects import DefaultObject
from evennia.utils import logger
from evennia.utils.ansi import strip_ansi

from evennia_ai.core.text.pronouns import FORMS, Pronouns, Wording, pronouns_of
from evennia_ai.core.typed_objects import Being, GameObject
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.attributes import read

B = TypeVar("B", bound=Being)
SOMEBODY = "somebody"
# A lock of Evennia's rpsystem: whoever does not pass it cannot recognise the being.
RECOGNISED = "enable_recog"
_ALIKE_FOR_ALL = (DefaultObject.get_display_name, DefaultAccount.get_display_name)
_ARTICLE = re.compile(r"(?:a|an|the)\s+(?=\w)", re.IGNORECASE)
_TAIL_NOTE = re.compile(r"\s*\[[^\[\]]*\]\Z")
_HASH_DIGITS = 8
_told_of: set[type] = set()


def is_alike_for_all(being: object) -> bool:
    """True where everybody sees the same name: the class has Evennia's own way to show it."""
    return getattr(type(being), "get_display_name", None) in _ALIKE_FOR_ALL


def shown(being: Being, looker: Being | None) -> str:
    """The name that somebody sees, with the game's markup: for lines that a client is sent.

    What a builder sees beside it, the number as "(#12)", is left out. A game's method that breaks
    is logged once for its class.

    Args:
        looker: a character or an account; None: a stranger whom nothing was told.
    """
    try:
        name = _asked(being, looker)
    except Exception:
        _tell_once(type(being))
        name = _known_to_all(being)
    return name.replace(f"(#{being.id})", "").strip() if name else SOMEBODY


def name_of(being: Being, looker: Being | None) -> str:
    """The name that somebody sees, as plain text; "somebody" where that is nothing.

    A player whose character is known by a description is not named by the account, which mostly
    has the character's key.

    Args:
        looker: a character or an account; None: a stranger whom nothing was told.
    """
    return _plain_name(_played(being), looker)


def name_on_channel(sender: Being, looker: Being | None) -> str:
    """The name that a channel shows of whoever sends something there: mostly the account's."""
    return _plain_name(sender, looker)


def _plain_name(being: Being, looker: Being | None) -> str:
    if is_alike_for_all(being):
        return str(being.name)
    return " ".join(str(strip_ansi(shown(being, looker))).split()) or SOMEBODY


def _played(being: Being) -> Any:
    """Of an account the character it plays, if that is known by a description; else the being."""
    played = eyes_of(being)
    return played if played is being or has_description(played) else being


def called(being: Being, looker: Being | None) -> tuple[str, ...]:
    """All names that somebody may call a being by, the one that is seen first.

    The key and the aliases are among them where what is seen has the key in it, and the game finds
    the being by it. What is seen counts without an article and without a note in brackets too.
    """
    if is_alike_for_all(being):
        return (str(being.key), *being.aliases.all())
    seen = name_of(being, looker)
    names = [seen, _TAIL_NOTE.sub("", seen)]
    names += [_ARTICLE.sub("", name, count=1) for name in names if _ARTICLE.match(name)]
    if not has_description(being) and _is_in(str(being.key), seen):
        names += [str(being.key), *being.aliases.all()]
    return tuple(dict.fromkeys(filter(None, names)))


def _is_in(key: str, seen: str) -> bool:
    """True where a key is part of what is seen, as a whole word."""
    return bool(re.search(rf"(?<!\w){re.escape(key)}(?!\w)", seen, re.IGNORECASE))


def hides_key(being: Being, looker: Being | None) -> bool:
    """True where somebody does not know a being by its key."""
    return not is_alike_for_all(being) and str(being.key) not in called(being, looker)


def is_called(being: Being, name: str, looker: Being | None) -> bool:
    """True for a name, in any case, that somebody may call a being by."""
    wanted = name.strip().casefold()
    return bool(wanted) and wanted in map(str.casefold, called(being, looker))


def has_description(being: Being) -> bool:
    """True where others know a being by a short description, as with Evennia's rpsystem."""
    return hasattr(type(being), "sdesc")


def found_by_game(looker: GameObject, name: str, beings: Collection[B]) -> list[B]:
    """Those of some beings that the game's own search finds for somebody, by description or recog.

    Empty where the game searches as Evennia does: then only whole names count.
    """
    if not (has_description(looker) and name.strip()):
        return []
    # Quietly, else Evennia tells the body that it found nothing.
    found: Iterable[Any] = looker.search(name, candidates=list(beings), quiet=True) or ()
    return [being for being in found if being in beings]


def eyes_of(being: Being | None) -> Any:
    """By whose eyes somebody sees: of an account the character it plays, which knows names."""
    plays = getattr(being, "get_all_puppets", None)
    return next(iter(plays()), being) if plays is not None else being


# ---- masks -------------------------------------------------------------------------------------


def mask_of(being: Being, looker: Being | None) -> str:
    """The id of a masked being as long as it wears this mask, "#12~1a2b3c4d"; "" for none.

    It is masked for whoever is not let recognise it. Another mask is somebody else.
    """
    being = _played(being)
    if is_alike_for_all(being) or not has_description(being) or being == looker:
        return ""
    if being.access(looker, RECOGNISED, default=True):
        return ""
    seen = name_of(being, looker).casefold().encode("utf-8", "replace")
    return f"{being.dbref}~{sha256(seen).hexdigest()[:_HASH_DIGITS]}"


# ---- asking the game ---------------------------------------------------------------------------


def _asked(being: Being, looker: Being | None) -> str:
    """The name by the being's own method, which need not take more than who looks."""
    try:
        return str(being.get_display_name(looker, noid=True) or "")
    # An error of that kind from within the method comes out of the second call.
    except TypeError:
        return str(being.get_display_name(looker) or "")


def _known_to_all(being: Being) -> str:
    """The name where a game's method breaks: the short description, or else the key."""
    try:
        description = getattr(being, "sdesc").get() if has_description(being) else ""  # noqa: B009
    # Not the key: where there are descriptions it is a secret.
    except Exception:
        return SOMEBODY
    return str(description or being.key)


def _tell_once(kind: type) -> None:
    if kind not in _told_of:
        _told_of.add(kind)
        logger.log_trace(f"[assistant] get_display_name of {kind.__module__}.{kind.__name__} broke")


PRONOUNS = "pronouns"
GENDER = "gender"  # of Evennia's contrib `gendersub`


def pronouns(script: Assistant) -> Pronouns:
    """The pronouns that people read of an assistant."""
    wish = read(script, PRONOUNS)
    body = script.obj
    gender = body.attributes.get(GENDER) if body is not None else None
    return pronouns_of(wish, gender)


def wording(script: Assistant) -> Wording:
    """The forms of these, for texts."""
    return FORMS[pronouns(script)]
