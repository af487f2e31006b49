"""The Django app: system checks, signal receivers, and what it adds to the game's settings."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Sequence
from functools import partial
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
from evennia.server.signals import SIGNAL_ACCOUNT_POST_LOGIN, SIGNAL_OBJECT_POST_UNPUPPET
from twisted.internet import reactor

from evennia_ai.core.hearing.rate_limits import HearingConfig
from evennia_ai.core.settings.game import CHECKS_TAG
from evennia_ai.core.settings.memory import MemoryConfig
from evennia_ai.core.settings.model import SettingsGroup
from evennia_ai.core.settings.safety import SafetyConfig
from evennia_ai.core.settings.services import ApiConfig, TraceConfig, WebConfig
from evennia_ai.core.typed_objects import Account, GameObject
from evennia_ai.errors import ConfigurationError

if TYPE_CHECKING:
    from evennia_ai.assistant_script import AssistantScript

USERNAME_VALIDATOR = {"NAME": "evennia_ai.operations.guarding.NoNameOfAnAssistant"}
NAMED_MODELS = ("ObjectDB", "AccountDB")
NAME_FIELDS = frozenset(("db_key", "username"))
MIGRATION_MODULE = "__fake__"  # `__module__` of the historical models within a migration
PORTAL_PART = "evennia_ai.runtime.portal_peers"
SERVER_PARTS = ("evennia_ai.api.mcp.service", "evennia_ai.api.a2a.service")
SESSIONS = "evennia_ai.api.sessions.ReadOnlySessions"
PAGES, SITE_TEMPLATES = "evennia_ai.web.site", "web/site_templates"
STREAM = "evennia_ai.web.service"
SHARED_LOGIN = ".SharedLoginMiddleware"
OLD_APP = "rest_framework.authtoken"  # which most games have not installed
OLD_TOKENS = ("authtoken.Token", "authtoken.TokenProxy")
ACCOUNTS = "accounts.AccountDB"
# Models that decide on the API's tokens: accounts, REST framework's tokens, and Evennia's bans.
TOKEN_MODELS = (ACCOUNTS, "authtoken.Token", "server.ServerConfig")


def check_settings(
    app_configs: Sequence[AppConfig] | None, **kwargs: object
) -> list[checks.CheckMessage]:
    """System check: settings that do not fit together; each is told once."""
    # Imported in here, as below: the app registry is not ready when Django loads this module.
    from evennia_ai import audit
    from evennia_ai.agent import preparation, telemetry
    from evennia_ai.budget import ledger
    from evennia_ai.operations import naming
    from evennia_ai.operations.settings.checks import check_locks_of_game
    from evennia_ai.runtime import services

    notice, problems = "", dict[str, None]()
    groups: Iterable[type[SettingsGroup]] = (
        *(ApiConfig, TraceConfig, WebConfig),
        *(HearingConfig, MemoryConfig, SafetyConfig),
    )

    def check_money() -> None:
        ledger.check_settings((services.endpoint(), *services.fallbacks()))

    readers: tuple[Callable[[], object], ...] = (
        *(preparation.check_settings, check_money),
        *(audit.check_settings, telemetry.config, naming.command_names, check_locks_of_game),
        *(partial(group.from_settings, settings) for group in groups),
    )
    try:
        notice = services.check_settings()
    except ConfigurationError as error:
        problems[str(error)] = None
    for reader in readers:
        try:
            reader()
        except ConfigurationError as error:
            problems[str(error)] = None
    errors = [checks.Error(problem, id="evennia_ai.E001") for problem in problems]
    return errors or ([checks.Warning(notice, id="evennia_ai.W001")] if notice else [])


def check_tables(
    app_configs: Sequence[AppConfig] | None, **kwargs: object
) -> list[checks.CheckMessage]:
    """System check: tables that are missing, without which no model is asked."""
    from evennia_ai.models import missing_tables

    # `migrate` passes the databases that it is about to work on; it will create the tables.
    if kwargs.get("databases"):
        return []
    try:
        missing = missing_tables()
    except DatabaseError:
        return []  # there is no database yet, which Django reports itself
    hint = "Type: evennia migrate. Until then no model is asked, and nothing recorded."
    text = f"the game's database has no tables {', '.join(missing)}"
    if missing:
        return [checks.Error(text, hint=hint, id="evennia_ai.E002")]
    return _check_ledger()


def _check_ledger() -> list[checks.CheckMessage]:
    from evennia_ai.budget.ledger import missing_tables, missing_text, names

    try:
        missing = missing_tables()
        trouble = "" if missing else names.trouble()
    except ConfigurationError:
        return []  # which `check_settings` reports
    # A warning and no error: a ledger that is down must not keep the game from starting.
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
    """Refuse a player's name that is an assistant's."""
    # First the cheap test: this runs at every save of the game, and few of them change a name.
    if raw or (update_fields is not None and NAME_FIELDS.isdisjoint(update_fields)):
        return
    # A game's typeclasses are proxy models; the concrete model is Evennia's own.
    kind = sender._meta.concrete_model.__name__
    if kind in NAMED_MODELS and sender.__module__ != MIGRATION_MODULE:
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
    """Refuse an alias that is an assistant's name; Evennia stores aliases as tags."""
    if action == "pre_add" and sender.__name__ == "ObjectDB_db_tags" and not reverse:
        from evennia_ai.operations import guarding

        guarding.judge_aliases(instance, pk_set)


def _after_unpuppet(sender: GameObject, **kwargs: object) -> None:
    """Take a superuser's pass through all locks back from a body that the superuser has left."""
    # Evennia sets it at puppeting and keeps it: players could talk an assistant into anything.
    sender.locks.cache_lock_bypass(sender)


def _after_login(sender: Account, **kwargs: object) -> None:
    """Tell staff who log in about name clashes, and about a ledger name that another game uses."""
    from evennia_ai.operations import guarding
    from evennia_ai.operations.monitoring import shared_ledger

    guarding.greet_staff(sender)
    shared_ledger.greet_staff(sender)


def _after_start() -> None:
    """Start background work in the server process, once the reactor runs."""
    # The portal and Evennia's launcher load the app and run a reactor as well.
    server = evennia.EVENNIA_SERVER_SERVICE
    if server is not None and server.running:
        from evennia_ai.agent import telemetry, tracing
        from evennia_ai.memory import arriving
        from evennia_ai.operations import guarding, naming
        from evennia_ai.operations.monitoring import shared_ledger
        from evennia_ai.operations.settings import checks
        from evennia_ai.runtime import services

        services.work().begin()
        tracing.prune_daily(reactor)
        telemetry.begin()
        guarding.report_clashes()
        checks.report_problems_of_game()
        shared_ledger.begin(reactor)
        arriving.after_start()
        # Builds the game's command sets, which makes ours report commands that clash.
        naming.words_of_the_game()
        # Everything loaded by now stays. Without freezing it, each full collection looks through
        # it again and holds the game up for a tenth of a second and more.
        gc.collect()
        gc.freeze()


def check_files(
    app_configs: Sequence[AppConfig] | None, **kwargs: object
) -> list[checks.CheckMessage]:
    """System check: a database file, which holds passwords, that other users may read."""
    from evennia_ai.operations.monitoring import database_files

    files = database_files.readable_by_others()
    hint = "Type: chmod 600 and the names of the files"
    text = f"other users of this machine may read {', '.join(files)}"
    return [checks.Warning(text, hint=hint, id="evennia_ai.W002")] if files else []


def check_names(
    app_configs: Sequence[AppConfig] | None, **kwargs: object
) -> list[checks.CheckMessage]:
    """System check: names in the settings that look like ours and that nothing reads."""
    from evennia_ai.operations.settings.checks import misspelt_names

    return [checks.Warning(text, id="evennia_ai.W006") for text in misspelt_names()]


def check_pages(
    app_configs: Sequence[AppConfig] | None, **kwargs: object
) -> list[checks.CheckMessage]:
    """System check: a page of the game's own at the address of the workbench."""
    if settings.ROOT_URLCONF != PAGES:
        return []
    try:
        path = WebConfig.from_settings(settings).path
        resolve(f"/{path}", settings.EVENNIA_AI_ROOT_URLCONF)
    except (ConfigurationError, Resolver404):
        return []  # the first is what `check_settings` reports
    text = f"the game has a page at /{path} itself, so that the workbench is not seen"
    hint = f'Put it elsewhere: {WebConfig.NAME} = {{"path": "assistants/"}}'
    return [checks.Warning(text, hint=hint, id="evennia_ai.W003")]


def _on_token_model_saved(
    sender: type[Model], instance: Model, raw: bool = False, **kwargs: object
) -> None:
    """Revoke API tokens when an account is banned or deactivated."""
    if raw or sender._meta.concrete_model._meta.label not in TOKEN_MODELS:
        return
    from evennia_ai.operations.rights import token_store

    token_store.on_saved(instance)


def _on_password_saving(
    sender: type[Model],
    instance: Model,
    raw: bool = False,
    update_fields: frozenset[str] | None = None,
    **kwargs: object,
) -> None:
    """Keep API tokens valid when a password is only stored in a newer hash format."""
    # Django rehashes a password at login, and then saves this one field.
    if raw or update_fields != frozenset(("password",)):
        return
    if sender._meta.concrete_model._meta.label == ACCOUNTS:
        from evennia_ai.operations.rights import token_store

        token_store.on_password_saving(instance)


def _on_old_token_deleted(instance: Model, **kwargs: object) -> None:
    from evennia_ai.operations.rights import token_store

    token_store.on_old_deleted(instance)


def _adopt_old_tokens(**kwargs: object) -> None:
    """Adopt the tokens of Django REST framework, which stay in their own table."""
    from evennia_ai.operations.rights import token_store

    token_store.adopt_all()


def _add_services(setting: str, modules: Sequence[str]) -> None:
    """Add modules to a setting of Evennia's that lists service plugins, each once."""
    value = getattr(settings, setting) or ()
    existing = [value] if isinstance(value, str) else list(value)  # Evennia accepts a single string
    added = [module for module in modules if module not in existing]
    setattr(settings, setting, [*existing, *added])


def _add_web_settings() -> None:
    """Add our middleware and our portal and server plugins to the game's settings, once.

    The API needs them, and the game should not have to edit a settings file for them.
    """
    _add_services("PORTAL_SERVICES_PLUGIN_MODULES", (PORTAL_PART,))
    _add_services("SERVER_SERVICES_PLUGIN_MODULES", SERVER_PARTS)
    layers = list(settings.MIDDLEWARE)
    places = [number for number, name in enumerate(layers) if name.endswith(SHARED_LOGIN)]
    if places and SESSIONS not in layers:
        # Before Evennia's middleware, which stores a session for every request without one.
        layers.insert(places[0], SESSIONS)
        settings.MIDDLEWARE = layers


def _add_pages() -> None:
    """Add the workbench to the game's web site, without a change to the game's files."""
    try:
        config = WebConfig.from_settings(settings)
    except ConfigurationError:
        return  # which `check_settings` reports
    # Django may call `ready` twice; our own URLconf would then pass for the game's.
    if not config.enabled or settings.ROOT_URLCONF == PAGES:
        return
    settings.EVENNIA_AI_ROOT_URLCONF = settings.ROOT_URLCONF
    settings.ROOT_URLCONF = PAGES
    library = str(Path(django_htmx.__file__).parent / "static")
    settings.STATICFILES_DIRS = [*settings.STATICFILES_DIRS, library]
    _add_services("SERVER_SERVICES_PLUGIN_MODULES", (STREAM,))
    for engine in settings.TEMPLATES[:1]:  # the engine of the web site
        engine["DIRS"] = [str(Path(__file__).parent / SITE_TEMPLATES), *engine.get("DIRS", ())]


def _find_assistant(name: str) -> AssistantScript | None:
    from evennia_ai.operations import find_assistant

    return find_assistant(name)


class EvenniaAIConfig(AppConfig):
    """The Django app of evennia_ai."""

    name = "evennia_ai"
    verbose_name = "AI assistant"
    is_start_scheduled = False
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register system checks and signal receivers, and extend the game's settings."""
        from evennia_ai import audit
        from evennia_ai.budget.ledger import place
        from evennia_ai.runtime import signals

        relay = signals.Relay(_find_assistant)
        if relay not in audit.LISTENERS:  # Django may call `ready` more than once
            audit.LISTENERS.append(relay)
        checks.register(check_settings, CHECKS_TAG)
        checks.register(check_tables)
        self._guard_names()
        checks.register(check_files)
        checks.register(check_names, CHECKS_TAG)
        checks.register(check_pages)
        # The ids keep a second `ready` from connecting a receiver twice.
        post_save.connect(_on_token_model_saved, dispatch_uid="evennia_ai.heed")
        pre_save.connect(_on_password_saving, dispatch_uid="evennia_ai.carry_over")
        for kind in OLD_TOKENS if apps.is_installed(OLD_APP) else ():
            post_delete.connect(
                _on_old_token_deleted, sender=kind, dispatch_uid=f"evennia_ai.heed.{kind}"
            )
        SIGNAL_OBJECT_POST_UNPUPPET.connect(_after_unpuppet, dispatch_uid="evennia_ai.locks")
        post_migrate.connect(_adopt_old_tokens, sender=self, dispatch_uid="evennia_ai.take_over")
        _add_web_settings()
        _add_pages()
        place.install()

    def _guard_names(self) -> None:
        """Keep players from taking an assistant's name; report clashes after the start."""
        validators = settings.AUTH_USERNAME_VALIDATORS
        if USERNAME_VALIDATOR not in validators:
            if isinstance(validators, list):
                # In place: Evennia holds this very list as a default argument.
                validators.append(USERNAME_VALIDATOR)
            else:
                settings.AUTH_USERNAME_VALIDATORS = [*validators, USERNAME_VALIDATOR]
        pre_save.connect(_before_saving, dispatch_uid="evennia_ai.runtime.names")
        m2m_changed.connect(_before_tagging, dispatch_uid="evennia_ai.aliases")
        SIGNAL_ACCOUNT_POST_LOGIN.connect(_after_login, dispatch_uid="evennia_ai.clashes")
        # The reactor would call it once for each `ready`.
        if not self.is_start_scheduled:
            self.is_start_scheduled = True
            reactor.callWhenRunning(_after_start)
