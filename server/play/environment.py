"""Virtual environments: created, filled from the pins, and kept while nothing has changed.

The game's own is `.venv`; the test suite's are made here too, with other extras. `uv` fills them in
a quarter of pip's time. Of pip's settings, uv gets only the certificates. So if pip is configured
with other indexes, or if uv is missing or fails, pip installs.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from server.play import processes
from server.play.layout import PlayError
from server.play.report import Report

STAMP = ".evennia-ai-installed"
DECIDES_WHAT_IS_INSTALLED = ("requirements.txt", "setup.cfg", "pyproject.toml")
PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input")
COLLECTING = re.compile(r"^\s*Collecting ")
INSTALLING = re.compile(r"^Installing collected packages: (.+)$")
INDEX_SETTINGS = (".index-url", ".extra-index-url", ".no-index")
# pip's settings for certificates; the first that is set counts.
CERTIFICATE_SETTINGS = (":env:.cert", "install.cert", "global.cert")
UV_STEPS = {"Resolved": "fetching", "Prepared": "unpacking", "Installed": "compiling"}
UV_STEP = re.compile(rf"^({'|'.join(UV_STEPS)}) (\d+) packages? in ")
# Called with a few words about the progress, and a new label for the step or "".
Progress = Callable[[str, str], None]


@dataclass(frozen=True)
class EnvironmentSpec:
    """Specification of an environment.

    Attributes:
        root: the checkout to install.
        folder: the environment's folder.
        interpreter: the Python to make it from.
        version: that Python's version, such as `"3.12"`.
        extras: the extras of the project to install with it.
        log: the file for pip's output.
        is_compiled: compile all modules when installing, so that the first start is as fast as the
            next; else each module is compiled when it is first imported.
    """

    root: Path
    folder: Path
    interpreter: str
    version: str
    extras: tuple[str, ...]
    log: Path
    is_compiled: bool = True

    @property
    def python(self) -> Path:
        """The environment's interpreter."""
        return self.folder / "bin" / "python"

    @property
    def fingerprint(self) -> str:
        """Digest of everything that decides what gets installed, except the extras."""
        digest = hashlib.sha256(f"{self.root} {self.version}".encode())
        for name in DECIDES_WHAT_IS_INSTALLED:
            digest.update((self.root / name).read_bytes())
        return digest.hexdigest()


def base_interpreter() -> str:
    """Return the running Python; inside an environment, the Python that the environment uses."""
    return str(getattr(sys, "_base_executable", "") or sys.executable)


def pinned_evennia(root: Path, version: str) -> str:
    """Return the Evennia that requirements.txt pins for a Python version, or ""."""
    minor = int(version.partition(".")[2])
    pins = (root / "requirements.txt").read_text(encoding="utf-8")
    for found, sign, bound in re.findall(
        r'^evennia==(\S+) *;.*python_version *(<|>=|==) *"3\.(\d+)"', pins, re.MULTILINE
    ):
        if {"<": minor < int(bound), ">=": minor >= int(bound), "==": minor == int(bound)}[sign]:
            return str(found)
    return ""


def describe(python: Path) -> tuple[str, str]:
    """Return the version of an environment's Python, such as `3.12`, and of its Evennia.

    Raises:
        PlayError: if Evennia is not installed.
    """
    tell = (
        "import sys; from importlib.metadata import version;"
        " print('%d.%d' % sys.version_info[:2], version('evennia'))"
    )
    asked = subprocess.run(
        [str(python), "-c", tell],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if asked.returncode != 0:
        raise PlayError(f"{python} cannot run the game: {processes.failure_line(asked.stderr)}")
    found, evennia = asked.stdout.split()
    return found, evennia


def is_ready(spec: EnvironmentSpec) -> bool:
    """Return whether the environment exists and has at least what it should."""
    try:
        fingerprint, *extras = (spec.folder / STAMP).read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        return False
    is_same = fingerprint == spec.fingerprint and set(spec.extras) <= set(extras)
    return is_same and spec.python.exists()


def make(spec: EnvironmentSpec, report: Report, on_made: Callable[[], None] = lambda: None) -> None:
    """Create or update the environment, unless it is ready.

    Args:
        spec: its specification.
        report: shows the progress.
        on_made: called as soon as there is an interpreter with pip, before any package.

    Raises:
        PlayError: if it cannot be made or filled; the sentence says why.
    """
    if is_ready(spec):
        return
    spec.log.parent.mkdir(parents=True, exist_ok=True)
    # Written again at the end, so that an interrupted install never counts as ready.
    (spec.folder / STAMP).unlink(missing_ok=True)
    with report.step("installing packages") as step:
        step.show("making an environment")
        if not _is_usable(spec):
            _create(spec)
        on_made()

        def show(progress: str, label: str) -> None:
            step.label = label or step.label
            step.show(progress)

        _install(spec, show)
    stamp = " ".join([spec.fingerprint, *spec.extras])
    (spec.folder / STAMP).write_text(stamp + "\n", encoding="utf-8")


def _is_usable(spec: EnvironmentSpec) -> bool:
    tell = "import sys, pip; print('%d.%d' % sys.version_info[:2])"
    if not spec.python.exists():
        return False
    code, said = processes.run([spec.python, "-c", tell], cwd=spec.root, log=spec.log)
    return code == 0 and said.strip() == spec.version


def _create(spec: EnvironmentSpec) -> None:
    if spec.folder.exists():
        shutil.rmtree(spec.folder)
    command: list[str | Path] = [spec.interpreter, "-m", "venv", spec.folder]
    code, said = processes.run(command, cwd=spec.root, log=spec.log)
    if code == 0:
        return
    if "ensurepip" in said:
        raise PlayError(
            f"Python {spec.version} has no venv module here; on Debian and Ubuntu:"
            f" apt install python{spec.version}-venv"
        )
    raise PlayError(f"Cannot make {spec.folder}: {processes.failure_line(said)}")


def _install(spec: EnvironmentSpec, show: Progress) -> None:
    project = f".[{','.join(spec.extras)}]" if spec.extras else "."
    wanted = ("--constraint", "requirements.txt", "--editable", project)
    if not _install_by_uv(spec, wanted, show):
        _install_by_pip(spec, wanted, show)


def _install_by_uv(spec: EnvironmentSpec, wanted: Sequence[str], show: Progress) -> bool:
    """Fill the environment with uv; return False if that fails."""
    code, said = processes.run([*_pip(spec), "config", "list"], cwd=spec.root, log=spec.log)
    uv = None if code != 0 or _has_indexes(said) else _uv_of(spec)
    if uv is None:
        return False
    command: list[str | Path] = [uv, "pip", "install", "--python", spec.python]
    command += [*(("--compile-bytecode",) if spec.is_compiled else ()), *wanted]
    code, _ = processes.run(
        command,
        cwd=spec.root,
        log=spec.log,
        # The user's own SSL_CERT_FILE takes precedence.
        env={**trusting(said), **os.environ},
        on_line=lambda line: _follow_uv(line, show),
    )
    return code == 0


def _uv_of(spec: EnvironmentSpec) -> Path | None:
    """Return the machine's own uv, or one that pip installs into the environment."""
    if found := shutil.which("uv"):
        return Path(found)
    command = [*_pip(spec), "install", "--constraint", "requirements.txt", "uv"]
    code, _ = processes.run(command, cwd=spec.root, log=spec.log, env=_pip_environment())
    uv = spec.folder / "bin" / "uv"
    return uv if code == 0 and uv.exists() else None


def _has_indexes(said: str) -> bool:
    """Return whether pip is configured with another index than the public one."""
    # An additional local folder does not replace the public index.
    elsewhere = [name for name, _, value in _settings(said) if not value.startswith("file:")]
    return any(name.endswith(INDEX_SETTINGS) for name in elsewhere)


def trusting(said: str) -> dict[str, str]:
    """Return the environment variable that makes uv trust pip's certificates, if pip has any.

    Args:
        said: the output of `pip config list`.
    """
    named = {name: value for name, _, value in _settings(said)}
    found = [named[name] for name in CERTIFICATE_SETTINGS if name in named]
    return {"SSL_CERT_FILE": found[0]} if found else {}


def _settings(said: str) -> Iterator[tuple[str, str, str]]:
    """Yield each line of `pip config list` in parts: `global.index-url='https://...'`."""
    for line in said.splitlines():
        name, sign, value = line.partition("=")
        yield name, sign, value.strip("'\"")


def _follow_uv(line: str, show: Progress) -> None:
    if found := UV_STEP.match(line):
        step, count = found.groups()
        label = f"installing {count} package{'s' if count != '1' else ''}"
        show(UV_STEPS[step], label if step == "Installed" else "")


def _install_by_pip(spec: EnvironmentSpec, wanted: Sequence[str], show: Progress) -> None:
    collected = 0

    def follow(line: str) -> None:
        nonlocal collected
        collected += bool(COLLECTING.match(line))
        if installing := INSTALLING.match(line):
            count = installing.group(1).count(",") + 1
            show("unpacking", f"installing {count} package{'s' if count != 1 else ''}")
        else:
            show(f"{collected} collected", "")

    command = [*_pip(spec), "install", "--progress-bar", "off"]
    command += [*(() if spec.is_compiled else ("--no-compile",)), *wanted]
    code, said = processes.run(
        command, cwd=spec.root, log=spec.log, env=_pip_environment(), on_line=follow
    )
    if code != 0:
        raise PlayError(f"{why_pip_failed(said)} (all of it: {spec.log})")


def _pip(spec: EnvironmentSpec) -> list[str | Path]:
    return [spec.python, *PIP]


def _pip_environment() -> dict[str, str]:
    # The machine's pip settings (an index, a proxy) still apply. Only the warning about running as
    # root and output buffering are switched off, because this program reads the output.
    return {**os.environ, "PIP_ROOT_USER_ACTION": "ignore", "PYTHONUNBUFFERED": "1"}


def why_pip_failed(said: str) -> str:
    """Return one sentence about the cause of a failed install, from pip's output."""
    if "No space left on device" in said:
        return "The disk is full: installing the packages did not succeed."
    compiler = re.search(r"(?:gcc|cc|clang|g\+\+)'?\b.*(?:No such file|not found)", said)
    if compiler or "Microsoft Visual C++" in said or "No acceptable C compiler" in said:
        broken = re.search(r"(?:Building wheel for|Failed building wheel for) (\S+)", said)
        package = broken.group(1) if broken else "A package"
        return (
            f"{package} has no ready-made build for this machine and there is no C compiler to"
            " make one: install gcc and the Python headers (Debian: apt install gcc python3-dev)."
        )
    if "Failed to establish a new connection" in said or "NameResolutionError" in said:
        return "The package index cannot be reached: installing needs the internet the first time."
    return f"Installing the packages did not succeed: {processes.failure_line(said)}"
