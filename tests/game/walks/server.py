"""A server process that is shut down or killed, and started again from the database."""

import ctypes
from collections.abc import Mapping
from typing import Any

from evennia.scripts.models import ScriptDB

from evennia_ai import audit
from evennia_ai.approvals import checkpoints
from evennia_ai.approvals.waits import WAITING
from evennia_ai.budget import ledger
from evennia_ai.llm.bridge import pacer_of
from evennia_ai.models import ModelCall
from evennia_ai.resilience import CircuitBreakerRegistry
from evennia_ai.runtime import services
from evennia_ai.tasks import task_waits
from tests.game.walks import tools
from tests.game.walks.model import WalkedModel


def _bury(*remains: Any) -> None:
    """Keep a killed process's remains alive: collected generators would run on."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(remains))


class Server:
    """The assistants of one process, with everything they hold in memory.

    Args:
        scripts: by key; each start puts new ones into it.
        model: the model of all of them.
        clock: the clock of all of them.
        has_reactor: whether the clock is also the process's reactor.
    """

    def __init__(
        self, scripts: dict[str, Any], model: WalkedModel, clock: Any, *, has_reactor: bool
    ) -> None:
        self.scripts, self.model, self.clock = scripts, model, clock
        self._has_reactor = has_reactor
        self._connect()

    def _connect(self) -> None:
        services.pool.cache_clear()
        pool = services.pool()
        if not self._has_reactor:
            pool._reactor = self.clock
            pool.breakers = CircuitBreakerRegistry(clock=self.clock.seconds)
        pool.set_transport(services.endpoint(), self.model)

    def end(self) -> None:
        """Shut down in order, with all hooks."""
        for script in self.scripts.values():
            script._pause_task(auto_pause=True)
        ledger.store().stop()
        self.model.till.written()
        self._forget()

    def kill(self) -> None:
        """End at once: only the database is left."""
        for script in self.scripts.values():
            if script.ndb._task is not None and script.ndb._task.running:
                script.ndb._task.stop()
        owner = ledger.store().owner
        self._forget()
        machine, number, _, token = owner.split(":")
        # The owner's process number becomes one that has ended, as after a real kill.
        ModelCall.objects.filter(owner=owner).update(owner=f"{machine}:{number}:0:{token}")

    def _forget(self) -> None:
        works = [(script, script.work, script.work.in_flight) for script in self.scripts.values()]
        _bury(works, self.model.die(), list(self.clock.calls), dict(WAITING))
        _bury(list(tools.BEGUN), task_waits.every(), services.pacer())
        ledger.start_anew()
        audit.start_anew()
        task_waits.start_anew()
        self.clock.calls.clear()
        WAITING.clear()
        checkpoints._DECIDED.clear()
        tools.BEGUN.clear()
        services.pacer()._waiting.clear()
        pacer_of.cache_clear()

    def start_again(self) -> None:
        self._connect()
        for key, script in self.scripts.items():
            script.work = None
            script.flush_from_cache(force=True)
            self.scripts[key] = ScriptDB.objects.get(pk=script.pk)
            self.scripts[key].clock = self.clock
        for script in self.scripts.values():
            script._unpause_task(auto_unpause=True)
            script.at_server_start()


class Snapshot:
    """The stored state of the assistants at one moment, to be restored.

    From that moment on the model is silent, so that nobody hears an answer that is undone later.
    """

    def __init__(self, scripts: Mapping[str, Any], model: WalkedModel) -> None:
        self._scripts, self._model = scripts, model
        self._rows: dict[str, dict[int, Any]] = {}

    @property
    def is_taken(self) -> bool:
        return bool(self._rows)

    def take(self, _: Any = None) -> None:
        if not self._rows:
            self._model.is_silent = True
            self._rows = {
                key: dict(script.db_attributes.values_list("pk", "db_value"))
                for key, script in self._scripts.items()
            }

    def restore(self) -> None:
        """Write the snapshot back."""
        self._model.is_silent = False
        for key, rows in self._rows.items():
            for attribute in self._scripts[key].db_attributes.all():
                if attribute.pk not in rows:
                    attribute.delete()
                else:
                    attribute.db_value = rows[attribute.pk]
                    attribute.save(update_fields=["db_value"])
