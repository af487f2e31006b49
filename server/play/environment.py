"""Virtual environments: made, filled from the pins, and left alone while nothing has changed.

The game's own is `.venv`; the test suite's are made here too, with other extras. `uv` fills them in
a quarter of pip's time. Of pip's settings it is told only whom to trust, so where pip is told of
other indexes, and where uv cannot be had or does not succeed, pip does it.
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
# Where pip is told whose certificates to trust; the first that is there counts.
CERTIFICATE_SETTINGS = (":env:.cert", "install.cert", "global.cert")
UV_STEPS = {"Resolved": "fetching", "Prepared": "unpacking", "Installed": "compiling"}
UV_STEP = re.compile(rf"^({'|'.join(UV_STEPS)}) (\d+) packages? in ")
# Takes a few words on the progress, and a new label of the step or "".
Progress = Callable[[str, str], None]


@dataclass(frozen=True)
class Wish:
    """What an environment should be.

    Attributes:
        root: the checkout to install.
        folder: where the environment lies.
        interpreter: the Python to make it from.
        version: that Python's version, such as `"3.12"`.
        extras: the extras of the project to install with it.
        log: the file pip's output is kept in.
        is_compiled: all of it is compiled at once, so that the first start is as fast as the next;
            else each module is when it is first loaded.
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
        """A digest of all that decides what gets installed, the extras apart."""
        digest = hashlib.sha256(f"{self.root} {self.version}".encode())
        for name in DECIDES_WHAT_IS_INSTALLED:
            digest.update((self.root / name).read_bytes())
        return digest.hexdigest()


def base_interpreter() -> str:
    """Return the running Python, or the one it was made from if it is itself in an environment."""
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
        PlayError: if it has none.
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
        raise PlayError(f"{python} cannot run the game: {processes.blame(asked.stderr)}")
    found, evennia = asked.stdout.split()
    return found, evennia


def is_ready(wish: Wish) -> bool:
    """Tell whether the environment is there and holds at least what it should."""
    try:
        fingerprint, *extras = (wish.folder / STAMP).read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        return False
    is_same = fingerprint == wish.fingerprint and set(wish.extras) <= set(extras)
    return is_same and wish.python.exists()


def make(wish: Wish, report: Report, on_made: Callable[[], None] = lambda: None) -> None:
    """Make the environment what it should be, showing how far it is; nothing if it is already.

    Args:
        wish: what it should be.
        report: shows how far it is.
        on_made: called as soon as there is an interpreter with pip, before any package.

    Raises:
        PlayError: if it cannot be made or filled; the sentence says why.
    """
    if is_ready(wish):
        return
    wish.log.parent.mkdir(parents=True, exist_ok=True)
    (wish.folder / STAMP).unlink(missing_ok=True)
    with report.step("installing packages") as step:
        step.show("making an environment")
        if not _is_usable(wish):
            _create(wish)
        on_made()

        def show(progress: str, label: str) -> None:
            step.label = label or step.label
            step.show(progress)

        _install(wish, show)
    stamp = " ".join([wish.fingerprint, *wish.extras])
    (wish.folder / STAMP).write_text(stamp + "\n", encoding="utf-8")


def _is_usable(wish: Wish) -> bool:
    tell = "import sys, pip; print('%d.%d' % sys.version_info[:2])"
    if not wish.python.exists():
        return False
    code, said = processes.run([wish.python, "-c", tell], cwd=wish.root, log=wish.log)
    return code == 0 and said.strip() == wish.version


def _create(wish: Wish) -> None:
    if wish.folder.exists():
        shutil.rmtree(wish.folder)
    command: list[str | Path] = [wish.interpreter, "-m", "venv", wish.folder]
    code, said = processes.run(command, cwd=wish.root, log=wish.log)
    if code == 0:
        return
    if "ensurepip" in said:
        raise PlayError(
            f"Python {wish.version} has no venv module here; on Debian and Ubuntu:"
            f" apt install python{wish.version}-venv"
        )
    raise PlayError(f"Cannot make {wish.folder}: {processes.blame(said)}")


def _install(wish: Wish, show: Progress) -> None:
    project = f".[{','.join(wish.extras)}]" if wish.extras else "."
    wanted = ("--constraint", "requirements.txt", "--editable", project)
    if not _install_by_uv(wish, wanted, show):
        _install_by_pip(wish, wanted, show)


def _install_by_uv(wish: Wish, wanted: Sequence[str], show: Progress) -> bool:
    """Fill the environment with uv; False where that does not succeed."""
    code, said = processes.run([*_pip(wish), "config", "list"], cwd=wish.root, log=wish.log)
    uv = None if code != 0 or _has_indexes(said) else _uv_of(wish)
    if uv is None:
        return False
    command: list[str | Path] = [uv, "pip", "install", "--python", wish.python]
    command += [*(("--compile-bytecode",) if wish.is_compiled else ()), *wanted]
    code, _ = processes.run(
        command,
        cwd=wish.root,
        log=wish.log,
        env={**trusting(said), **os.environ},
        on_line=lambda line: _follow_uv(line, show),
    )
    return code == 0


def _uv_of(wish: Wish) -> Path | None:
    """The machine's own uv, or one that pip fetches into the environment."""
    if found := shutil.which("uv"):
        return Path(found)
    command = [*_pip(wish), "install", "--constraint", "requirements.txt", "uv"]
    code, _ = processes.run(command, cwd=wish.root, log=wish.log, env=_pip_environment())
    uv = wish.folder / "bin" / "uv"
    return uv if code == 0 and uv.exists() else None


def _has_indexes(said: str) -> bool:
    """Tell whether pip is told to look elsewhere than in the public index."""
    # A folder of this machine that is looked into besides takes nothing away.
    elsewhere = [name for name, _, value in _settings(said) if not value.startswith("file:")]
    return any(name.endswith(INDEX_SETTINGS) for name in elsewhere)


def trusting(said: str) -> dict[str, str]:
    """The variable that lets uv trust the certificates that pip trusts; none where pip names none.

    Args:
        said: what `pip config list` said.
    """
    named = {name: value for name, _, value in _settings(said)}
    found = [named[name] for name in CERTIFICATE_SETTINGS if name in named]
    return {"SSL_CERT_FILE": found[0]} if found else {}


def _settings(said: str) -> Iterator[tuple[str, str, str]]:
    """Name and value of each line of `pip config list`: `global.index-url='https://...'`."""
    for line in said.splitlines():
        name, sign, value = line.partition("=")
        yield name, sign, value.strip("'\"")


def _follow_uv(line: str, show: Progress) -> None:
    if found := UV_STEP.match(line):
        step, count = found.groups()
        label = f"installing {count} package{'s' if count != '1' else ''}"
        show(UV_STEPS[step], label if step == "Installed" else "")


def _install_by_pip(wish: Wish, wanted: Sequence[str], show: Progress) -> None:
    collected = 0

    def follow(line: str) -> None:
        nonlocal collected
        collected += bool(COLLECTING.match(line))
        if installing := INSTALLING.match(line):
            count = installing.group(1).count(",") + 1
            show("unpacking", f"installing {count} package{'s' if count != 1 else ''}")
        else:
            show(f"{collected} collected", "")

    command = [*_pip(wish), "install", "--progress-bar", "off"]
    command += [*(() if wish.is_compiled else ("--no-compile",)), *wanted]
    code, said = processes.run(
        command, cwd=wish.root, log=wish.log, env=_pip_environment(), on_line=follow
    )
    if code != 0:
        raise PlayError(f"{why_pip_failed(said)} (all of it: {wish.log})")


def _pip(wish: Wish) -> list[str | Path]:
    return [wish.python, *PIP]


def _pip_environment() -> dict[str, str]:
    # Plain pip settings of the machine (an index, a proxy) stay in force; only a terminal's
    # decorations are switched off, because a program reads this.
    return {**os.environ, "PIP_ROOT_USER_ACTION": "ignore", "PYTHONUNBUFFERED": "1"}


def why_pip_failed(said: str) -> str:
    """Turn what pip said into one sentence about what is wrong on this machine."""
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
    return f"Installing the packages did not succeed: {processes.blame(said)}"
