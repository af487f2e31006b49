"""Plugin of Evennia's server: starts the A2A server if the game's settings name a port.

`evennia_ai.apps` adds this module to SERVER_SERVICES_PLUGIN_MODULES. Without a port it does
nothing, and imports nothing that a game does not load anyway.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from types import ModuleType

from evennia.utils import logger
from twisted.application.service import MultiService
from twisted.internet import reactor
from twisted.internet.task import LoopingCall

from evennia_ai import audit
from evennia_ai.approvals import people
from evennia_ai.core.settings.services import A2aConfig
from evennia_ai.models import missing_tables
from evennia_ai.operations.peers import tasks
from evennia_ai.runtime import services
from evennia_ai.runtime.side_servers import SideServer, Starter, log_from_lane, wanted
from evennia_ai.tasks import peer_store

SERVING = "evennia_ai.api.a2a.serving"
# All tasks are checked this often: tasks orphaned by a restart cause no event, and an event may be
# missed.
FOLLOW_EVERY_SECONDS = 10.0
PRUNE_EVERY_SECONDS, A_DAY_SECONDS = 600.0, 86_400.0
# Prefixes of audit events after which the state of a peer's task may have changed.
RELEVANT_EVENTS = ("question_", "errand_")


def start_plugin_services(server: MultiService) -> None:
    """Start the A2A server; called by Evennia's server when it starts."""
    config = wanted(services.a2a_config)
    if config is None:
        return
    if missing := missing_tables(*peer_store.TABLES):
        problem = f"the A2A server needs the tables {', '.join(missing)}; type: evennia migrate"
        logger.log_err(f"[assistant] {problem}")
        return
    watch(config.kept_days * A_DAY_SECONDS)
    starter = Starter("A2A server", SERVING, partial(_make, config))
    reactor.callWhenRunning(starter.start)


def watch(kept_seconds: float) -> None:
    """Let peers be asked questions like players, and follow their tasks.

    Args:
        kept_seconds: how long a finished task is kept.
    """
    people.ELSEWHERE.append(people.Elsewhere(tasks.account_waiting, tasks.is_waiting))
    audit.LISTENERS.append(_on_event)
    following = LoopingCall(_follow_tasks)
    reactor.callWhenRunning(following.start, FOLLOW_EVERY_SECONDS, now=False)
    pruning = LoopingCall(_prune, kept_seconds)
    reactor.callWhenRunning(pruning.start, PRUNE_EVERY_SECONDS)


def _on_event(event: str, subject: str, details: Mapping[str, object]) -> None:
    # The listener is called before the transaction of the event is complete.
    if event.startswith(RELEVANT_EVENTS):
        reactor.callLater(0, _follow_tasks, subject)


def _follow_tasks(assistant: str = "") -> None:
    try:
        tasks.follow_all(assistant)
    except Exception:  # a LoopingCall that raises would stop for good
        logger.log_trace("[assistant] tasks of peers could not be looked after")


def _prune(kept_seconds: float) -> None:
    try:
        peer_store.prune(time.time(), kept_seconds)
    except Exception:  # as above
        logger.log_trace("[assistant] old tasks of peers could not be dropped")


def _make(config: A2aConfig, serving: ModuleType) -> SideServer:
    server: SideServer = serving.A2aServer(config, log_from_lane)
    return server
