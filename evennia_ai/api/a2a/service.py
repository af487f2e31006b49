"""The part of Evennia's server that starts the A2A server, where the game's settings name a port.

`evennia_ai.apps` names this module in SERVER_SERVICES_PLUGIN_MODULES. Where no port is set it does
nothing, and imports nothing that the game does not have already.
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
# A look at every task now and then, whatever was missed; and soon after a start, for orphans.
LOOK_EVERY_SECONDS = 10.0
PRUNE_EVERY_SECONDS, A_DAY_SECONDS = 600.0, 86_400.0
# What is recorded of a question or a request may mean that a task of a peer's stands otherwise.
TELLING = ("question_", "errand_")


def start_plugin_services(server: MultiService) -> None:
    """Called by Evennia's server when it starts."""
    config = wanted(services.a2a_config)
    if config is None:
        return
    if missing := missing_tables(*peer_store.TABLES):
        told = f"the A2A server needs the tables {', '.join(missing)}; type: evennia migrate"
        logger.log_err(f"[assistant] {told}")
        return
    watch(config.kept_days * A_DAY_SECONDS)
    starter = Starter("A2A server", SERVING, partial(_make, config))
    reactor.callWhenRunning(starter.start)


def watch(kept_seconds: float) -> None:
    """Ask peers as people who play are asked, and follow what becomes of their tasks.

    Args:
        kept_seconds: how long a task that is over is kept.
    """
    people.ELSEWHERE.append(people.Elsewhere(tasks.account_waiting, tasks.is_waiting))
    audit.LISTENERS.append(_on_fact)
    looking = LoopingCall(_look)
    reactor.callWhenRunning(looking.start, LOOK_EVERY_SECONDS, now=False)
    pruning = LoopingCall(_prune, kept_seconds)
    reactor.callWhenRunning(pruning.start, PRUNE_EVERY_SECONDS)


def _on_fact(event: str, subject: str, details: Mapping[str, object]) -> None:
    """Look in a moment: what is told now is stored with what follows it."""
    if event.startswith(TELLING):
        reactor.callLater(0, _look, subject)


def _look(assistant: str = "") -> None:
    try:
        tasks.follow_all(assistant)
    except Exception:  # the next look may succeed
        logger.log_trace("[assistant] tasks of peers could not be looked after")


def _prune(kept_seconds: float) -> None:
    try:
        peer_store.prune(time.time(), kept_seconds)
    except Exception:  # the next time may succeed
        logger.log_trace("[assistant] old tasks of peers could not be dropped")


def _make(config: A2aConfig, serving: ModuleType) -> SideServer:
    made: SideServer = serving.A2aServer(config, log_from_lane)
    return made
