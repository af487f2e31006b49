"""Protection of assistants' names: no player may take one, or a name that looks like one.

Accounts and players' characters are refused such a name however they come by it. What staff create
is allowed and reported to staff, and so are clashes that existed before. Nobody is ever renamed.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterable

from django.conf import settings
from django.core.exceptions import ValidationError
from evennia.accounts.models import AccountDB
from evennia.objects.models import ObjectDB
from evennia.typeclasses.tags import Tag
from evennia.utils import logger
from evennia.utils.utils import class_from_module
from twisted.internet import reactor

from evennia_ai.assistant_account import HearsPagesForAssistant
from evennia_ai.assistant_character import AssistantMixin
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.typed_objects import Account, GameObject
from evennia_ai.errors import NameTakenError
from evennia_ai.messages import outgoing
from evennia_ai.messages.lines import literal, plain
from evennia_ai.operations.naming import (
    ALIAS,
    BODY_OF_ACCOUNT,
    accounts_like,
    characters_like,
    list_assistants,
    names_of,
    outlines_of,
    owner_of_name,
    problem_of_name,
    problem_of_owner,
    problem_of_player,
)
from evennia_ai.runtime.audience import has_assistant
from evennia_ai.runtime.names import is_character

ADVICE = "Rename one of them (`name`); until then whisper and page reach the assistant."
# What sets a part of a name apart: in a list it would read like a name of its own, or like a note.
_MARKS_OFF = re.compile(r"[,;()\[\]{}<>]|\s[-\u2013\u2014:/]\s")
_Claims = dict[str, str]  # key of the assistant that has a name, by the outline of the name


def refusal_of(name: str, body: GameObject | None = None) -> str:
    """The message that refuses a name to a player and says what would be accepted, or ""."""
    owner = _owner_of_part(name, body)
    if owner is None:
        return ""
    script, other = owner
    key, shown = str(script.key), one_line(name)
    if name.casefold() == key.casefold():
        return f"{key} is an assistant of this game, an AI; choose another name."
    if name.casefold() == other.casefold():
        return f"{other} is a name of {key}, an assistant of this game; choose another one."
    whose = key if other.casefold() == key.casefold() else f"{other}, a name of {key}"
    return (
        f"{shown} looks like {whose}, an assistant of this game; choose a name that nobody takes "
        "for it."
    )


def _owner_of_part(name: str, body: GameObject | None = None) -> tuple[AssistantScript, str] | None:
    """As `owner_of_name`, also for a part of a player's name, as in `Ada (an AI)` or `Ada, Tom`."""
    parts = _MARKS_OFF.split(unicodedata.normalize("NFKC", plain(name)))
    several = (owner_of_name(part, body) for part in dict.fromkeys((name, *parts)))
    return next(filter(None, several), None)


class NoNameOfAnAssistant:
    """A validator of usernames, for Django's setting AUTH_USERNAME_VALIDATORS."""

    def __call__(self, username: str) -> None:
        """Accept a username.

        Raises:
            ValidationError: it is the name of an assistant, or looks like one.
        """
        if problem := refusal_of(username):
            raise ValidationError(problem, code="evennia_ai_name_taken")


# ---- before a name is stored: called by Django's pre_save and m2m_changed signals ---------------


def judge_account(account: AccountDB) -> None:
    """Check the name of an account before it is stored.

    Raises:
        NameTakenError: the name is new, and an assistant has it or one like it.
    """
    # The account through which an assistant receives pages has its name on purpose.
    if isinstance(account, HearsPagesForAssistant):
        return
    old = _stored(AccountDB, account, "username")
    if account.username == old or not (problem := refusal_of(account.username)):
        return
    if old is not None:
        # Attributes exist only once the account is stored.
        if account.attributes.has(BODY_OF_ACCOUNT):
            return
        # Evennia's idmapper keeps the object, so it must not go on with a name never stored.
        account.username = old
    raise NameTakenError(problem)


def judge_object(being: ObjectDB) -> None:
    """Check the name of an object before it is stored.

    Raises:
        NameTakenError: the object is a player's and the name is, or looks like, an assistant's; or
            the object is an assistant's body and the name is not fit for an assistant.
    """
    if not is_character(being) and not has_assistant(being):
        return
    old = _stored(ObjectDB, being, "db_key")
    if being.db_key == old:
        return
    if problem := _problem_of(being, str(being.db_key or ""), is_new=old is None):
        # As for accounts: the object lives on in Evennia's cache.
        being.__dict__["db_key"] = being.db_key if old is None else old
        raise NameTakenError(problem)


def judge_aliases(being: ObjectDB, tags: Iterable[int]) -> None:
    """Check new aliases of an object before they are stored.

    Args:
        tags: primary keys of the tags being added; tags that are not aliases are ignored.

    Raises:
        NameTakenError: as in `judge_object`.
    """
    if not is_character(being) and not has_assistant(being):
        return
    aliases = Tag.objects.filter(pk__in=tags, db_tagtype=ALIAS, db_model="objectdb")
    for alias in aliases.values_list("db_key", flat=True):
        if problem := _problem_of(being, str(alias), is_alias=True):
            raise NameTakenError(problem)


def _stored(
    model: type[AccountDB | ObjectDB], being: AccountDB | ObjectDB, field: str
) -> str | None:
    # The object in memory has the new value already; only the database knows the old one.
    if being.pk is None:
        return None
    stored: str | None = model.objects.filter(pk=being.pk).values_list(field, flat=True).first()
    return stored


def _problem_of(
    being: GameObject, name: str, *, is_new: bool = False, is_alias: bool = False
) -> str:
    """Return the problem with a name, or ""; where staff may use it anyway, tell staff of it."""
    # Assistants may share an alias, such as "keeper"; a new body gets its own before its script.
    is_body = has_assistant(being) or (
        is_alias and isinstance(being, AssistantMixin) and not is_players(being)
    )
    if is_body:
        taken = problem_of_player if is_alias else problem_of_owner
        return problem_of_name(name) or taken(name, being)
    if (owner := _owner_of_part(name)) is None:
        return ""
    is_barred = is_players(being)
    if is_new:
        # It has no locks or account to judge by, only its class. A copy of an assistant's body is
        # refused too: its class would start a second assistant of the same name.
        is_barred = isinstance(being, AssistantMixin) or _is_players_class(being)
    if is_barred:
        return refusal_of(name)
    _report(being, name, str(owner[0].key))
    return ""


def _is_players_class(being: GameObject) -> bool:
    account = class_from_module(settings.BASE_ACCOUNT_TYPECLASS, settings.TYPECLASS_PATHS)
    paths = (settings.BASE_CHARACTER_TYPECLASS, account.default_character_typeclass)
    # Settings may leave out the start of a path, which Evennia takes from TYPECLASS_PATHS.
    return any(f".{being.path}".endswith(f".{path}") for path in paths)


def is_players(being: GameObject) -> bool:
    """True where a player puppets a character, made it, or is named by its puppet lock."""
    is_entered = being.db_account_id is not None or bool(being.attributes.get("creator_id"))
    # Evennia names the account that may puppet a character by `pid(<number>)` in that lock.
    return is_entered or "pid(" in str(being.locks.get("puppet"))


# ---- clashes that exist already ----------------------------------------------------------------


class _ClashWatch:
    # A search reads every name of the game; staff who log in must not pay for it each time.

    may_be_some = True


def find_clashes(script: AssistantScript | None = None) -> list[str]:
    """List characters, accounts and guests with a name like an assistant's, a sentence each.

    Args:
        script: the assistant; None for all assistants.
    """
    scripts = [script] if script is not None else list_assistants()
    claims = {
        outline: str(each.key)
        for each in scripts
        for name in names_of(each)
        for outline in outlines_of(name)
    }
    if not claims:
        return []
    # `has_assistant` would not do: it knows a body only after the first start of its script.
    bodies = {script.obj for script in list_assistants()}
    others = [
        (f"the character {one_line(being.db_key)} ({being.dbref})", being.db_key)
        for being in characters_like(claims)
        if being not in bodies
    ]
    accounts = (account.username for account in accounts_like(claims))
    others += [(f"the account {one_line(name)}", name) for name in accounts]
    guests = (
        name for name in settings.GUEST_LIST or () if not outlines_of(name).isdisjoint(claims)
    )
    others += [(f"the guest {name} of GUEST_LIST", name) for name in guests]
    return [_warning(who, claims, name) for who, name in others]


def _warning(who: str, claims: _Claims, name: str) -> str:
    key = next(claims[outline] for outline in outlines_of(name) if outline in claims)
    return f"{who} has a name like the assistant {key}; people may take one for the other."


def report_clashes() -> None:
    """Log who has a name like an assistant's; called once after a start of the server."""
    try:
        clashes = find_clashes()
    except Exception:  # a warning that cannot be made must not keep the server from starting
        logger.log_trace("[assistant] it could not be seen who is called like an assistant")
        return
    _ClashWatch.may_be_some = bool(clashes)
    for line in clashes:
        logger.log_warn(f"[assistant] {line} {ADVICE}")


def greet_staff(account: Account) -> None:
    """Tell staff at login who has a name like an assistant's."""
    if not _ClashWatch.may_be_some or not account.check_permstring("Admin"):
        return
    clashes = find_clashes()
    _ClashWatch.may_be_some = bool(clashes)
    for line in clashes:
        account.msg(f"|r[assistant]|n {literal(f'{line} {ADVICE}')}")


def _report(being: GameObject, name: str, key: str) -> None:
    _ClashWatch.may_be_some = True
    kind = "a new one" if being.pk is None else being.dbref
    who = f"a {being.typename} ({kind}) called {one_line(name, 60)}"
    message = f"{_warning(who, dict.fromkeys(outlines_of(name), key), name)} {ADVICE}"
    # The website saves in threads of its own, and Evennia's sessions are not thread-safe.
    if threading.current_thread() is threading.main_thread():
        outgoing.alert_staff(message)
    else:
        reactor.callFromThread(outgoing.alert_staff, message)
