"""The interface of game and launcher to the embedded model: start, find, stop and describe it."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from evennia_ai.llm.local import weights
from evennia_ai.llm.local.cache import Report, no_report
from evennia_ai.llm.local.errors import MissingRuntimeError, StartError
from evennia_ai.llm.local.logfile import last_line
from evennia_ai.llm.local.state import (
    LocalModel,
    Phase,
    Snapshot,
    log_path,
    read_snapshot,
    supervisor_pid,
)

_POLL_SECONDS = 0.1
_STOP_SECONDS = 15.0
_KILL_SECONDS = 5.0
_LAUNCH_SECONDS = 30.0
# Environment variables with these words in their names are not passed to the daemon.
_SECRET_WORDS = ("KEY", "TOKEN", "SECRET", "PASSWORD")


def find_running(state_dir: Path) -> LocalModel | None:
    """The running model of this folder, or None. Reads two small files; never raises."""
    snapshot = read_snapshot(state_dir)
    if snapshot is None or snapshot.phase is not Phase.READY:
        return None
    # The pid alone proves nothing: the file may be stale and its number reused by another process.
    # Only a living supervisor holds the lock.
    if supervisor_pid(state_dir) != snapshot.pid:
        return None
    return LocalModel(snapshot.base_url, snapshot.model, snapshot.pid, snapshot.api_key)


def is_installed() -> bool:
    """True if xllamacpp, which runs the model, can be imported."""
    return importlib.util.find_spec("xllamacpp") is not None


def ensure_running(
    state_dir: Path,
    *,
    stop_with: Path | None = None,
    report: Report = no_report,
    environ: Mapping[str, str] = os.environ,
    timeout_seconds: float = 330.0,
) -> LocalModel:
    """Return the running model; fetch its weights and start it if necessary. Blocks.

    Args:
        state_dir: the game's own folder for the model; created if missing.
        stop_with: pid file of the game; the model ends some time after that game does.
        report: progress callback.
        environ: settings for the weights, and the daemon's environment without secrets.
        timeout_seconds: the longest time for loading; fetching is not counted.

    Raises:
        MissingRuntimeError: xllamacpp is not installed.
        WeightsError: the weights cannot be had.
        StartError: the model did not start.
    """
    running = find_running(state_dir)
    if running is not None:
        return running
    if not supervisor_pid(state_dir):
        if not is_installed():
            raise MissingRuntimeError
        path = weights.find_or_fetch(environ, report=report)
        name = weights.model_name(path)
        # Two processes may get here at the same time; the daemon's lock lets one of them win.
        host = [sys.executable, "-m", "evennia_ai.llm.local.host", "--model", str(path)]
        launch(state_dir, name, [*host, "--name", name], stop_with=stop_with, environ=environ)
    return wait_until_ready(state_dir, timeout_seconds, report)


def stop(state_dir: Path, *, patience_seconds: float = _STOP_SECONDS) -> bool:
    """End the supervisor of this folder and its model; True if there was one.

    Args:
        state_dir: the folder.
        patience_seconds: time before the supervisor is killed.

    Raises:
        StartError: it belongs to another user.
    """
    pid = supervisor_pid(state_dir)
    if not pid:
        return False
    for number, patience in ((signal.SIGTERM, patience_seconds), (signal.SIGKILL, _KILL_SECONDS)):
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return True
        except PermissionError:
            raise StartError(
                f"The embedded model (process {pid}) belongs to another user; stop it as that user"
            ) from None
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if supervisor_pid(state_dir) != pid:
                return True
            time.sleep(_POLL_SECONDS)
    return True


def describe(state_dir: Path) -> str:
    """A one-line description of the model's state, for people."""
    # The file outlives a supervisor that was killed, so a phase other than FAILED counts only if
    # the lock names the same process.
    snapshot, pid = read_snapshot(state_dir), supervisor_pid(state_dir)
    if snapshot is None:
        return "The embedded model has not been started."
    if snapshot.phase is Phase.FAILED:
        return f"The embedded model failed: {snapshot.reason} (its log: {log_path(state_dir)})"
    if pid != snapshot.pid:
        return "The embedded model is not running."
    if snapshot.phase is Phase.READY:
        again = f", restarted {snapshot.restarts} times" if snapshot.restarts else ""
        return f"{snapshot.model} answers at {snapshot.base_url} (process {pid}{again})"
    return f"The embedded model is {snapshot.phase}{_because(snapshot)}."


def loading(state_dir: Path) -> str:
    """A message for people while the model is loading, or ""."""
    snapshot = read_snapshot(state_dir)
    is_loading = snapshot is not None and snapshot.phase in (Phase.STARTING, Phase.RESTARTING)
    if snapshot is None or not is_loading or supervisor_pid(state_dir) != snapshot.pid:
        return ""
    since = time.strftime("%H:%M:%S", time.localtime(snapshot.started_at))
    return (
        f"The demo brain is being loaded, since {since}; wait for it, a minute or two. If it does "
        f"not answer then, its log says why: {log_path(state_dir)}"
    )


def launch(
    state_dir: Path,
    name: str,
    host_command: Sequence[str],
    *,
    stop_with: Path | None = None,
    environ: Mapping[str, str] = os.environ,
    options: Sequence[str] = (),
) -> None:
    """Start a supervisor for the folder, unless it has one. It outlives this process.

    Args:
        state_dir: the folder; created if missing.
        name: the model's name in the API.
        host_command: the command that the supervisor runs and restarts.
        stop_with: pid file of the game to end with.
        environ: the supervisor's environment; secrets are left out.
        options: further options of the supervisor.

    Raises:
        StartError: no supervisor started.
    """
    folder = state_dir.absolute()
    command = [sys.executable, "-m", "evennia_ai.llm.local.daemon"]
    command += ["--state-dir", str(folder), "--name", name, *options]
    if stop_with is not None:
        command += ["--stop-with", str(stop_with.absolute())]
    if _run_logged([*command, "--", *host_command], folder, _daemon_environ(environ)) != 0:
        raise StartError(
            f"The embedded model could not be started: {last_line(log_path(folder))} "
            f"(its log: {log_path(folder)})"
        )


def _run_logged(command: Sequence[str], folder: Path, environ: Mapping[str, str]) -> int:
    """Run a command in a session of its own, with its output in the folder's log."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with log_path(folder).open("ab") as log:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=environ,
                start_new_session=True,
                timeout=_LAUNCH_SECONDS,
                check=False,
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StartError(f"The embedded model cannot be started in {folder}: {error}") from None
    return done.returncode


def wait_until_ready(state_dir: Path, timeout_seconds: float, report: Report) -> LocalModel:
    """Wait until the supervisor of this folder has a model that answers.

    Raises:
        StartError: the supervisor gave up, was stopped, or took too long.
    """
    deadline = time.monotonic() + timeout_seconds
    while time.monotonic() < deadline:
        running = find_running(state_dir)
        if running is not None:
            return running
        if not supervisor_pid(state_dir):
            raise StartError(describe(state_dir))
        report("starting the model", 0, 0)
        time.sleep(_POLL_SECONDS)
    raise StartError(
        f"The embedded model did not answer within {timeout_seconds:.0f} s "
        f"(its log: {log_path(state_dir)})"
    )


def _daemon_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """The daemon's environment: without secrets, which it has no use for, but with our package."""
    variables = {
        name: value
        for name, value in environ.items()
        if not any(word in name.upper() for word in _SECRET_WORDS)
    }
    root = str(Path(__file__).resolve().parents[3])
    # site-packages is on the path anyway, and in PYTHONPATH it would shadow standard modules.
    if root not in sysconfig.get_paths().values():
        paths = [path for path in variables.get("PYTHONPATH", "").split(os.pathsep) if path]
        variables["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([*paths, root]))
    return variables


def _because(snapshot: Snapshot) -> str:
    return f" ({snapshot.reason})" if snapshot.reason else ""
