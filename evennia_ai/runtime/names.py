"""Names and descriptions of characters and objects as a given observer sees them.

In a game with short descriptions, masks and recognition the key is a secret. A being's own
`get_display_name` says what an observer may know, and no other name gets into a prompt, a line or a
list. Where a class has Evennia's own method, everybody sees the key, and nothing has to be asked.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from functools import lru_cache
from hashlib import sha256
from typing import Any, TypeVar

from django.conf import settings
from evennia.accounts.accounts import DefaultAccount
from evennia.objects.objects import DefaultCharacter, DefaultExit, DefaultObject, DefaultRoom
from evennia.utils import logger
from evennia.utils.ansi import strip_ansi
from evennia.utils.utils import class_from_module

from evennia_ai.core.text.words import FORMS, Pronouns, Wording, pronouns_of
from evennia_ai.core.typed_objects import Being, GameObject
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.attributes import read

B = TypeVar("B", bound=Being)
SOMEBODY = "somebody"
# The lock type of Evennia's rpsystem that allows an observer to recognise somebody.
RECOGNISED = "enable_recog"
# Category of the aliases that Evennia makes by itself when it counts things: "two Adas".
PLURAL = "plural_key"
_ALIKE_FOR_ALL = (DefaultObject.get_display_name, DefaultAccount.get_display_name)
_ARTICLE = re.compile(r"(?:a|an|the)\s+(?=\w)", re.IGNORECASE)
_TAIL_NOTE = re.compile(r"\s*\[[^\[\]]*\]\Z")
_HASH_DIGITS = 8  # of a mask's id
_logged: set[tuple[type, str]] = set()


def is_character(thing: object) -> bool:
    """True for a character of Evennia's class, or of a class of the game that is not derived."""
    return isinstance(thing, (DefaultCharacter, _class_at(settings.BASE_CHARACTER_TYPECLASS)))


@lru_cache(maxsize=8)
def _class_at(path: str) -> type:
    kind: type = class_from_module(path, fallback=settings.FALLBACK_CHARACTER_TYPECLASS)
    return kind


def is_alike_for_all(being: object) -> bool:
    """True where everybody sees the same name, because the class has Evennia's own method."""
    return getattr(type(being), "get_display_name", None) in _ALIKE_FOR_ALL


def shown(being: Being, looker: Being | None) -> str:
    """The name that an observer sees, with the game's markup: for lines sent to a client.

    Args:
        looker: a character or an account; None: a stranger.
    """
    try:
        name = _ask_game(being, looker)
    # A broken method of the game is logged once for its class, and a safe name is used.
    except Exception:
        _log_once(type(being), "get_display_name")
        name = _known_to_all(being)
    # Builders see the dbref behind the name, as in "Tom(#12)"; others must not.
    return name.replace(f"(#{being.id})", "").strip() if name else SOMEBODY


def name_of(being: Being, looker: Being | None) -> str:
    """The name that an observer sees, as plain text; "somebody" where there is none.

    A player whose character is known by a description is not named by the account, which usually
    has the character's key.

    Args:
        looker: a character or an account; None: a stranger.
    """
    return name_on_channel(_played(being), looker)


def name_on_channel(sender: Being, looker: Being | None) -> str:
    """The name that a channel shows for a sender: usually the account's."""
    if is_alike_for_all(sender):
        return unmarked(str(sender.name)) or SOMEBODY
    return " ".join(str(strip_ansi(shown(sender, looker))).split()) or SOMEBODY


def _added_markup() -> re.Pattern[str] | None:
    """Markup that the game adds to Evennia's, as its contrib `color_markups` does (`%cr`, `{r`).

    What begins with `|` is escaped like Evennia's own. None where there is none.
    """
    marks = [mark for mark, _ in settings.COLOR_ANSI_EXTRA_MAP]
    marks += [mark for mark, _ in settings.COLOR_ANSI_XTERM256_BRIGHT_BG_EXTRA_MAP]
    patterns = [re.escape(mark) for mark in marks if not mark.startswith("|")]
    for kind in ("FG", "BG", "GFG", "GBG"):
        rows = getattr(settings, f"COLOR_XTERM256_EXTRA_{kind}")
        patterns += [row for row in rows if not row.startswith(r"\|")]
    return re.compile("|".join(patterns)) if patterns else None


# Evennia's own parser also reads these settings once.
ADDED_MARKUP = _added_markup()


def has_markup(text: str) -> bool:
    """True where a text has markup or colours."""
    if "|" in text or "\x1b" in text:
        return True
    return ADDED_MARKUP is not None and ADDED_MARKUP.search(text) is not None


@lru_cache(maxsize=4096)
def unmarked(name: str) -> str:
    """A name without the game's markup, as a client shows it: "|yGolden|n key" is "Golden key"."""
    return str(strip_ansi(name)).strip() if has_markup(name) else name


def folded(name: str) -> str:
    """A name for comparison: in any case, with its accents written in one way."""
    # Models write "ë" as one character; a client may have sent the letter and its accent.
    return name.casefold() if name.isascii() else unicodedata.normalize("NFC", name.casefold())


def _played(being: Being) -> Any:
    """For an account, the character it plays, if that is known by a description; else the being."""
    if not hasattr(being, "get_all_puppets"):
        return being
    played = eyes_of(being)
    return played if has_description(played) else being


def called(being: Being, looker: Being | None) -> tuple[str, ...]:
    """All names that an observer may call a being by, the visible one first.

    The key and aliases are included only where the visible name contains the key. The visible name
    also counts without its article, and without a note in brackets.
    """
    key = unmarked(str(being.key))
    if is_alike_for_all(being):
        return (key, *map(unmarked, being.aliases.all()))
    visible_name = name_of(being, looker)
    names = [visible_name, _TAIL_NOTE.sub("", visible_name)]
    names += [_ARTICLE.sub("", name, count=1) for name in names if _ARTICLE.match(name)]
    if not has_description(being) and _is_in(key, visible_name):
        names += [key, *map(unmarked, being.aliases.all())]
    return tuple(dict.fromkeys(filter(None, names)))


def aliases_of(being: Being) -> list[str]:
    """The aliases of a being, except those that Evennia generates when somebody looks at it."""
    tags = being.aliases.all(return_objs=True)
    return [str(tag.db_key) for tag in tags if tag.db_category != PLURAL]


def _is_in(key: str, seen: str) -> bool:
    """True where a key is part of the visible name, as a whole word."""
    return bool(re.search(rf"(?<!\w){re.escape(key)}(?!\w)", seen, re.IGNORECASE))


def hides_key(being: Being, looker: Being | None) -> bool:
    """True where an observer does not know a being by its key."""
    return not is_alike_for_all(being) and unmarked(str(being.key)) not in called(being, looker)


def is_called(being: Being, name: str, looker: Being | None) -> bool:
    """True for a name, in any case, that an observer may call a being by."""
    wanted = folded(name.strip())
    return bool(wanted) and wanted in map(folded, called(being, looker))


def as_others_see(line: str, listener: Being, *, is_pose: bool) -> str:
    """A line that a listener was shown, with its key replaced by what strangers call it.

    rpsystem shows everybody their own key where a line refers to them, and what an assistant heard
    is shown to others.
    """
    if is_alike_for_all(listener) or not hides_key(listener, None):
        return line
    key, instead = str(listener.key), name_of(listener, None)
    own = shown(listener, listener)
    # With the game's markup it can be nothing but a reference.
    if own != key and key in own:
        line = line.replace(own, instead)
    # Without markup a key such as Will may be a word; only a pose is certain to refer to somebody.
    return re.sub(rf"(?<!\w){re.escape(key)}(?!\w)", lambda _: instead, line) if is_pose else line


def has_description(being: Being) -> bool:
    """True where others know a being by a short description, as with Evennia's rpsystem."""
    return hasattr(type(being), "sdesc")


def found_by_game(looker: GameObject, name: str, beings: Collection[B]) -> list[B]:
    """The beings that the game's own search finds for an observer, by description or recog.

    Empty where the game searches as Evennia does: then only whole names count.
    """
    if not (has_description(looker) and name.strip()):
        return []
    # `quiet`, or Evennia would tell the body that it found nothing.
    beings_found: Iterable[Any] = looker.search(name, candidates=list(beings), quiet=True) or ()
    return [being for being in beings_found if being in beings]


def eyes_of(being: Being | None) -> Any:
    """The being whose view counts: for an account the character it plays, which knows names."""
    plays = getattr(being, "get_all_puppets", None)
    return next(iter(plays()), being) if plays is not None else being


# ---- masks -------------------------------------------------------------------------------------


def mask_of(being: Being, looker: Being | None) -> str:
    """The id of a masked being while it wears this mask, "#12~1a2b3c4d"; "" if it wears none.

    It is masked for observers who are not allowed to recognise it. Another mask is another person.
    """
    being = _played(being)
    if not has_description(being) or is_alike_for_all(being) or being == looker:
        return ""
    if being.access(looker, RECOGNISED, default=True):
        return ""
    visible_name = name_of(being, looker).casefold().encode("utf-8", "replace")
    return f"{being.dbref}~{sha256(visible_name).hexdigest()[:_HASH_DIGITS]}"


# ---- asking the game ---------------------------------------------------------------------------


def _ask_game(being: Being, looker: Being | None) -> str:
    """Ask the being's own method, which may not take more than the observer."""
    try:
        return str(being.get_display_name(looker, noid=True) or "")
    # A TypeError from within the method is raised again by the second call.
    except TypeError:
        return str(being.get_display_name(looker) or "")


def _known_to_all(being: Being) -> str:
    """A safe name where the game's method fails: the short description, or else the key."""
    try:
        description = getattr(being, "sdesc").get() if has_description(being) else ""  # noqa: B009
    # Not the key, which is a secret in a game with descriptions.
    except Exception:
        return SOMEBODY
    return str(description or being.key)


def _log_once(kind: type, method: str) -> None:
    if (kind, method) not in _logged:
        _logged.add((kind, method))
        logger.log_trace(f"[assistant] {method} of {kind.__module__}.{kind.__name__} broke")


# ---- descriptions ------------------------------------------------------------------------------

_KINDS = (DefaultObject, DefaultCharacter, DefaultRoom, DefaultExit)


def description_of(thing: GameObject, looker: GameObject) -> str:
    """The description that an observer sees, as plain text; "" where the game has none.

    A game may make it up instead of storing it as `db.desc`, as Evennia's contribs for
    wildernesses, seasons and clothing do.
    """
    stored = str(thing.db.desc or "")
    try:
        text = str(thing.get_display_desc(looker) or "")
    # As for names; a turn must not fail because of it.
    except Exception:
        _log_once(type(thing), "get_display_desc")
        text = stored
    if not stored:
        # Evennia's own text for what has no description tells a model nothing.
        for kind in _KINDS:
            text = text.removeprefix(str(kind.default_description))
    return str(strip_ansi(text)).strip()


# ---- pronouns ----------------------------------------------------------------------------------

PRONOUNS = "pronouns"
GENDER = "gender"  # of Evennia's contrib `gendersub`


def pronouns(script: Assistant) -> Pronouns:
    """The pronouns that players read for an assistant."""
    wish = read(script, PRONOUNS)
    body = script.obj
    gender = body.attributes.get(GENDER) if body is not None else None
    return pronouns_of(wish, gender)


def wording(script: Assistant) -> Wording:
    """The forms of its pronouns, for texts."""
    return FORMS[pronouns(script)]
