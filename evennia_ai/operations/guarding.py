"""Nobody takes the name of an assistant, or one that looks like it.

A player's character and an account are refused it, by whatever way they come by it. What staff make
is let through, and told about; so are clashes from before. Nobody is ever renamed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from evennia.accounts.models import AccountDB
from evennia.objects.models import ObjectDB
from evennia.objects.objects import DefaultCharacter
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
from evennia_ai.messages.lines import literal
from evennia_ai.operations.naming import (
    ALIAS,
    BODY_OF_ACCOUNT,
    list_assistants,
    names_of,
    outline,
    owner_of_name,
    problem_of_name,
    problem_of_owner,
    problem_of_player,
)
from evennia_ai.runtime.audience import has_assistant

ADVICE = "Rename one of them (`name`); until then whisper and page reach the assistant."
_Claims = dict[str, str]  # whose name it is, by its outline


def refusal_of(name: str, body: GameObject | None = None) -> str:
    """The refusal of a name to players, with what would be right, or ""."""
    owner = owner_of_name(name, body)
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


class NoNameOfAnAssistant:
    """A validator of usernames, for Django's setting AUTH_USERNAME_VALIDATORS."""

    def __call__(self, username: str) -> None:
        """Let a name pass.

        Raises:
            ValidationError: it is that of an assistant, or looks like it.
        """
        if problem := refusal_of(username):
            raise ValidationError(problem, code="evennia_ai_name_taken")


# ---- what is about to be stored ----------------------------------------------------------------


def judge_account(account: AccountDB) -> None:
    """Look at the name of an account before it is stored.

    Raises:
        NameTakenError: it is new, and an assistant's.
    """
    # The account by which an assistant hears pages bears its name.
    if isinstance(account, HearsPagesForAssistant):
        return
    old = _stored(AccountDB, account, "username")
    if account.username == old or not (problem := refusal_of(account.username)):
        return
    if old is not None:
        if account.attributes.has(BODY_OF_ACCOUNT):
            return
        # Evennia keeps the object, which must not bear a name that was never stored.
        account.username = old
    raise NameTakenError(problem)


def judge_object(being: ObjectDB) -> None:
    """Look at the name of an object before it is stored.

    Raises:
        NameTakenError: it is new, and an assistant's, and the object is a player's; or it is the
            body of an assistant, and the name is none for it.
    """
    if not isinstance(being, DefaultCharacter) and not has_assistant(being):
        return
    old = _stored(ObjectDB, being, "db_key")
    if being.db_key == old:
        return
    if problem := _problem_of(being, str(being.db_key or ""), is_new=old is None):
        # Evennia keeps the object, which must not bear a name that was never stored.
        being.__dict__["db_key"] = being.db_key if old is None else old
        raise NameTakenError(problem)


def judge_aliases(being: ObjectDB, tags: Iterable[int]) -> None:
    """Look at what an object is to be called beside its name.

    Args:
        tags: primary keys of what is added to it; other tags than aliases do not count.

    Raises:
        NameTakenError: as of `judge_object`.
    """
    if not isinstance(being, DefaultCharacter) and not has_assistant(being):
        return
    aliases = Tag.objects.filter(pk__in=tags, db_tagtype=ALIAS, db_model="objectdb")
    for alias in aliases.values_list("db_key", flat=True):
        if problem := _problem_of(being, str(alias), is_alias=True):
            raise NameTakenError(problem)


def _stored(
    model: type[AccountDB | ObjectDB], being: AccountDB | ObjectDB, field: str
) -> str | None:
    """The value of a field in the database; None of what is not there yet."""
    if being.pk is None:
        return None
    stored: str | None = model.objects.filter(pk=being.pk).values_list(field, flat=True).first()
    return stored


def _problem_of(
    being: GameObject, name: str, *, is_new: bool = False, is_alias: bool = False
) -> str:
    """The problem with a name of something, or ""; of what staff may call so they are told."""
    if has_assistant(being):
        taken = problem_of_player if is_alias else problem_of_owner
        return problem_of_name(name) or taken(name, being)
    if (owner := owner_of_name(name)) is None:
        return ""
    # A copy of a body would bring a second mind of the same name with it.
    is_barred = is_players(being)
    if is_new:
        is_barred = isinstance(being, AssistantMixin) or _is_players_class(being)
    if is_barred:
        return refusal_of(name)
    _tell(being, name, str(owner[0].key))
    return ""


def _is_players_class(being: GameObject) -> bool:
    """True where something new is of the very class that players get, and so a player's."""
    account = class_from_module(settings.BASE_ACCOUNT_TYPECLASS, settings.TYPECLASS_PATHS)
    paths = (settings.BASE_CHARACTER_TYPECLASS, account.default_character_typeclass)
    return any(f".{being.path}".endswith(f".{path}") for path in paths)


def is_players(being: GameObject) -> bool:
    """True where a player is in a character, or it is some player's to enter."""
    is_entered = being.db_account_id is not None or bool(being.attributes.get("creator_id"))
    return is_entered or "pid(" in str(being.locks.get("puppet"))


# ---- clashes that are there --------------------------------------------------------------------


class _ClashWatch:
    """The knowledge of clashes in this process; it looks again only where there may be some."""

    may_be_some = True


def find_clashes(script: AssistantScript | None = None) -> list[str]:
    """Clashes: beings, accounts and guests called like an assistant, a sentence each.

    Args:
        script: the assistant; None for all of them.
    """
    wanted = [script] if script is not None else list_assistants()
    claims = {
        seen: str(each.key) for each in wanted for name in names_of(each) if (seen := outline(name))
    }
    if not claims:
        return []
    return [*_clashes_of_objects(claims), *_clashes_of_accounts(claims), *_of_guests(claims)]


def _clashes_of_objects(claims: _Claims) -> list[str]:
    keys = _rows_like(claims, ObjectDB.objects.values_list("pk", "db_key"))
    # Not by what lives beside a body: before the first start of its script nothing does.
    bodies = {script.obj.pk for script in list_assistants() if script.obj is not None}
    return [
        _line(f"the character {one_line(keys[being.pk])} ({being.dbref})", claims, keys[being.pk])
        for being in ObjectDB.objects.filter(pk__in=keys.keys() - bodies).order_by("pk")
        if isinstance(being, DefaultCharacter)
    ]


def _clashes_of_accounts(claims: _Claims) -> list[str]:
    keys = _rows_like(claims, AccountDB.objects.values_list("pk", "username"))
    return [
        _line(f"the account {one_line(keys[account.pk])}", claims, keys[account.pk])
        for account in AccountDB.objects.filter(pk__in=keys).order_by("pk")
        if not account.attributes.has(BODY_OF_ACCOUNT)
    ]


def _rows_like(claims: _Claims, rows: QuerySet[AccountDB | ObjectDB]) -> dict[int, str]:
    """Those of rows of a primary key and a name that clash."""
    return {pk: name for pk, name in rows.iterator() if outline(name) in claims}


def _of_guests(claims: _Claims) -> list[str]:
    names = [name for name in settings.GUEST_LIST or () if outline(name) in claims]
    return [_line(f"the guest {name} of GUEST_LIST", claims, name) for name in names]


def _line(who: str, claims: _Claims, name: str) -> str:
    key = claims[outline(name)]
    return f"{who} has a name like the assistant {key}; people may take one for the other."


def report_clashes() -> None:
    """Write into the log who is called like an assistant; once, after a start."""
    try:
        found = find_clashes()
    except Exception:
        logger.log_trace("[assistant] it could not be seen who is called like an assistant")
        return
    _ClashWatch.may_be_some = bool(found)
    for line in found:
        logger.log_warn(f"[assistant] {line} {ADVICE}")


def greet_staff(account: Account) -> None:
    """Tell staff who come in who is called like an assistant."""
    if not _ClashWatch.may_be_some or not account.check_permstring("Admin"):
        return
    found = find_clashes()
    _ClashWatch.may_be_some = bool(found)
    for line in found:
        account.msg(f"|r[assistant]|n {literal(f'{line} {ADVICE}')}")


def _tell(being: GameObject, name: str, key: str) -> None:
    """Tell the log and staff of something that staff call like an assistant from now on."""
    _ClashWatch.may_be_some = True
    kind = "a new one" if being.pk is None else being.dbref
    who = f"a {being.typename} ({kind}) called {one_line(name, 60)}"
    told = f"{_line(who, {outline(name): key}, name)} {ADVICE}"
    if threading.current_thread() is threading.main_thread():
        outgoing.alert_staff(told)
    else:  # a page of the website
        reactor.callFromThread(outgoing.alert_staff, told)
