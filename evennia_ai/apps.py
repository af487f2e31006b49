"""The Django app. Wrong settings are reported by `check`, before a player meets them."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import django_htmx
import evennia
from django.apps import AppConfig, apps
from django.conf import settings
from django.core import checks
from django.db.models import Model
from django.db.models.signals import m2m_changed, post_delete, post_migrate, post_save, pre_save
from django.db.utils import DatabaseError
from django.urls import Resolver404, resolve
from evennia.server.signals import SIGNAL_ACCOUNT_POST_LOGIN
from twisted.internet import reactor

from evennia_ai.core.settings.services import ApiConfig, WebConfig
from evennia_ai.core.typed_objects import Account
from evennia_ai.errors import ConfigurationError

if TYPE_CHECKING:
    from evennia_ai.assistant_script import AssistantScript

USERNAMES = {"NAME": "evennia_ai.operations.guarding.NoNameOfAnAssistant"}
NAMED = ("ObjectDB", "AccountDB")
NAMES = frozenset(("db_key", "username"))
MIGRATED = "__fake__"  # where Django has the models of a migration
PORTAL_PART = "evennia_ai.runtime.portal_peers"
SERVER_PARTS = ("evennia_ai.api.mcp.service", "evennia_ai.api.a2a.service")
SESSIONS = "evennia_ai.api.sessions.ReadOnlySessions"
PAGES, SITE_TEMPLATES = "evennia_ai.web.site", "web/site_templates"
STREAM = "evennia_ai.web.service"
SHARED_LOGIN = ".SharedLoginMiddleware"
OLD_APP = "rest_framework.authtoken"  # which most games have not installed
OLD_TOKENS = ("authtoken.Token", "authtoken.TokenProxy")
ACCOUNTS = "accounts.AccountDB"
HEEDED = (ACCOUNTS, "authtoken.Token", "server.ServerConfig")


def check_settings(
    app_configs: Sequence[AppConfig] | None, **kwargs: object
) -> list[checks.CheckMessage]:
    """Report settings that do not fit together."""
    from evennia_ai import audit
    from evennia_ai.agent import preparation, telemetry, tracing
    from evennia_ai.budget import ledger
    from evennia_ai.operations import naming
    from evennia_ai.runtime import services

    try:
        notice = services.check_settings()
        preparation.check_settings()
        ledger.check_settings(services.endpoint())
        audit.check_settings()
        tracing.check_settings()
        telemetry.config()
        naming.command_names()
        for group in (ApiConfig, WebConfig):
            group.from_stored(getattr(settings, group.NAME, {}))
    except ConfigurationError as error:
        return [checks.Error(str(error), id="evennia_ai.E001")]
    return [checks.Warning(notice, id="evennia_ai.W001")] if notice else []


def check_tables(
    app_configs: Sequence[AppConfig] | None, **kwargs: object
) -> list[checks.CheckMessage]:
    """Report tables that are missing: without them no model is asked."""
    from evennia_ai.models import missing_tables

    # `migrate`, which makes them, names the databases it is about to work on.
    if kwargs.get("databases"):
        return []
    try:
        missing = missing_tables()
    except DatabaseError:
        return []  # there is no database yet, which others report
    hint = "Type: evennia migrate. Until then no model is asked, and nothing recorded."
    text = f"the game's database has no tables {', '.join(missing)}"
    if missing:
        return [checks.Error(text, hint=hint, id="evennia_ai.E002")]
    return _check_ledger()


def _check_ledger() -> list[checks.CheckMessage]:
    """Report what a shared ledger lacks; one that is away is no reason not to start."""
    from evennia_ai.budget.ledger import missing_tables, missing_text, names

    try:
        missing = missing_tables()
        trouble = "" if missing else names.trouble()
    except ConfigurationError:
        return []  # which another check reports
    except DatabaseError as error:
        text = f"the ledger that this game shares cannot be reached: {error}"
        hint = "No model is asked before it answers."
        return [checks.Warning(text, hint=hint, id="evennia_ai.W004")]
    if missing:
        return [checks.Error(missing_text(), id="evennia_ai.E004")]
    return [checks.Warning(trouble, id="evennia_ai.W005")] if trouble else []


def _before_saving(
    sender: type[Model],
    instance: Model,
    raw: bool = False,
    update_fields: frozenset[str] | None = None,
    **kwargs: object,
) -> None:
    """Refuse a player's name that is an assistant's; nearly all that is saved is not a name."""
    if raw or (update_fields is not None and NAMES.isdisjoint(update_fields)):
        return
    # A game's typeclasses are proxies; the concrete model is Evennia's own.
    kind = sender._meta.concrete_model.__name__
    if kind in NAMED and sender.__module__ != MIGRATED:
        from evennia_ai.operations import guarding

        judge = guarding.judge_object if kind == "ObjectDB" else guarding.judge_account
        judge(instance)


def _before_tagging(
    sender: type[Model],
    instance: Model,
    action: str,
    reverse: bool,
    pk_set: set[int],
    **kwargs: object,
) -> None:
    """Refuse an alias, which is a tag, likewise."""
    if action == "pre_add" and sender.__name__ == "ObjectDB_db_tags" and not reverse:
        from evennia_ai.operations import guarding

        guarding.judge_aliases(instance, pk_set)


def _after_login(sender: Account, **kwargs: object) -> None:
    """Tell staff of clashes, and of a ledger whose name is another game's."""
    from evennia_ai.operations import guarding
    from evennia_ai.operations.monitoring import shared_ledger

    guarding.greet_staff(sender)
    shared_ledger.greet_staff(sender)


def _after_start() -> None:
    """Begin what the process that runs the game does besides.

    Not the portal, nor Evennia's launcher, which lets a reactor run for a moment or for hours.
    """
    server = evennia.EVENNIA_SERVER_SERVICE
    if server is not None and server.running:
        from evennia_ai.agent import telemetry, tracing
        from evennia_ai.memory import arriving
        from evennia_ai.operations import guarding, naming
        from evennia_ai.operations.monitoring import shared_ledger
        from evennia_ai.runtime import services

        services.work().begin()
        tracing.prune_daily(reactor)
        telemetry.begin()
        guarding.report_clashes()
        shared_ledger.begin(reactor)
        arriving.after_start()
        naming.words_of_the_game()  # which makes its command sets, and ours tells of clashes
        # What is loaded by now stays, and need not be looked through again: that takes a tenth of
        # a second and more each time, in which the game stands still.
        gc.collect()
        gc.freeze()


def check_files(
    app_configs: Sequence[AppConfig] | None, **kwargs: object
) -> list[checks.CheckMessage]:
    """Report a database file that other users of the machine may read: passwords are in it."""
    from evennia_ai.operations.monitoring import health

    found = health.readable_by_others()
    hint = "Type: chmod 600 and the names of the files"
    told = f"other users of this machine may read {', '.join(found)}"
    return [checks.Warning(told, hint=hint, id="evennia_ai.W002")] if found else []


def check_pages(
    app_configs: Sequence[AppConfig] | None, **kwargs: object
) -> list[checks.CheckMessage]:
    """Report an address of the workbench that the game has itself: its own is shown there."""
    if settings.ROOT_URLCONF != PAGES:
        return []
    path = WebConfig.from_stored(getattr(settings, WebConfig.NAME, {})).path
    try:
        resolve(f"/{path}", settings.EVENNIA_AI_ROOT_URLCONF)
    except Resolver404:
        return []
    told = f"the game has a page at /{path} itself, so that the workbench is not seen"
    hint = f'Put it elsewhere: {WebConfig.NAME} = {{"path": "assistants/"}}'
    return [checks.Warning(told, hint=hint, id="evennia_ai.W003")]


def _heed(sender: type[Model], instance: Model, raw: bool = False, **kwargs: object) -> None:
    """Let tokens of the API end with a ban, or with an account that is switched off."""
    if raw or sender._meta.concrete_model._meta.label not in HEEDED:
        return
    from evennia_ai.operations.rights import token_store

    token_store.on_saved(instance)


def _carry_over(
    sender: type[Model],
    instance: Model,
    raw: bool = False,
    update_fields: frozenset[str] | None = None,
    **kwargs: object,
) -> None:
    """Let tokens of the API go on where a password is only stored in a newer form."""
    if raw or update_fields != frozenset(("password",)):
        return
    if sender._meta.concrete_model._meta.label == ACCOUNTS:
        from evennia_ai.operations.rights import token_store

        token_store.on_password_saving(instance)


def _heed_end(instance: Model, **kwargs: object) -> None:
    from evennia_ai.operations.rights import token_store

    token_store.on_old_deleted(instance)


def _take_over(**kwargs: object) -> None:
    """Move the tokens of Django REST framework, which stand in their table as they are."""
    from evennia_ai.operations.rights import token_store

    token_store.adopt_all()


def _name_services(setting: str, modules: Sequence[str]) -> None:
    """Name modules in a setting of Evennia's that tells what else it starts, each once."""
    given = getattr(settings, setting) or ()
    named = [given] if isinstance(given, str) else list(given)  # Evennia takes one by itself too
    added = [module for module in modules if module not in named]
    setattr(settings, setting, [*named, *added])


def _join_the_web() -> None:
    """Name our middleware and our parts of portal and server in the game's settings, once.

    They are needed wherever the API is, and none is asked for by a file of the game's.
    """
    _name_services("PORTAL_SERVICES_PLUGIN_MODULES", (PORTAL_PART,))
    _name_services("SERVER_SERVICES_PLUGIN_MODULES", SERVER_PARTS)
    layers = list(settings.MIDDLEWARE)
    places = [number for number, name in enumerate(layers) if name.endswith(SHARED_LOGIN)]
    if places and SESSIONS not in layers:
        # Before Evennia's, which stores a session for whoever comes without one.
        layers.insert(places[0], SESSIONS)
        settings.MIDDLEWARE = layers


def _add_pages() -> None:
    """Put the workbench into the game's web site, without a file of the game's."""
    try:
        config = WebConfig.from_stored(getattr(settings, WebConfig.NAME, {}))
    except ConfigurationError:
        return  # which the check tells
    # An app may be made ready twice, and ours would then be taken for the game's.
    if not config.enabled or settings.ROOT_URLCONF == PAGES:
        return
    settings.EVENNIA_AI_ROOT_URLCONF = settings.ROOT_URLCONF
    settings.ROOT_URLCONF = PAGES
    library = str(Path(django_htmx.__file__).parent / "static")
    settings.STATICFILES_DIRS = [*settings.STATICFILES_DIRS, library]
    _name_services("SERVER_SERVICES_PLUGIN_MODULES", (STREAM,))
    for engine in settings.TEMPLATES[:1]:  # the site's
        engine["DIRS"] = [str(Path(__file__).parent / SITE_TEMPLATES), *engine.get("DIRS", ())]


def _find(name: str) -> AssistantScript | None:
    from evennia_ai.operations import find_assistant

    return find_assistant(name)


class EvenniaAIConfig(AppConfig):
    """evennia_ai as a Django app."""

    name = "evennia_ai"
    verbose_name = "AI assistant"
    looks_after_start = False
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the checks, and send the signals that the record has a fact for."""
        from evennia_ai import audit
        from evennia_ai.budget.ledger import place
        from evennia_ai.runtime import signals

        relay = signals.Relay(_find)
        if relay not in audit.LISTENERS:  # an app may be made ready more than once
            audit.LISTENERS.append(relay)
        checks.register(check_settings)
        checks.register(check_tables)
        self._guard_names()
        checks.register(check_files)
        checks.register(check_pages)
        post_save.connect(_heed, dispatch_uid="evennia_ai.heed")
        pre_save.connect(_carry_over, dispatch_uid="evennia_ai.carry_over")
        for kind in OLD_TOKENS if apps.is_installed(OLD_APP) else ():
            post_delete.connect(_heed_end, sender=kind, dispatch_uid=f"evennia_ai.heed.{kind}")
        post_migrate.connect(_take_over, sender=self, dispatch_uid="evennia_ai.take_over")
        _join_the_web()
        _add_pages()
        place.install()

    def _guard_names(self) -> None:
        """Let nobody take the name of an assistant; and see after the start who has it already."""
        validators = settings.AUTH_USERNAME_VALIDATORS
        if USERNAMES not in validators:
            if isinstance(validators, list):
                # In place, since Evennia holds the list as a default argument.
                validators.append(USERNAMES)
            else:
                settings.AUTH_USERNAME_VALIDATORS = [*validators, USERNAMES]
        pre_save.connect(_before_saving, dispatch_uid="evennia_ai.runtime.names")
        m2m_changed.connect(_before_tagging, dispatch_uid="evennia_ai.aliases")
        SIGNAL_ACCOUNT_POST_LOGIN.connect(_after_login, dispatch_uid="evennia_ai.clashes")
        # The reactor calls as often as it was asked to.
        if not self.looks_after_start:
            self.looks_after_start = True
            reactor.callWhenRunning(_after_start)
