"""Supported Pythons, and their places on this machine.

Python 3.8 must be able to parse this file: no newer syntax here.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

SUPPORTED = ((3, 11), (3, 12), (3, 13))
ASK_TIMEOUT_SECONDS = 20
TELL_VERSION = "import sys, ensurepip, venv; print('%d.%d' % sys.version_info[:2])"
# Prints the seconds of processor time of a fixed number of calls, the least of five tries.
TELL_SPEED = """
from time import process_time
def step(number): return {"number": number}["number"] + 1
def run():
    began = process_time()
    for number in range(40000): step(number)
    return process_time() - began
print(min(run() for _ in range(5)))
"""


def is_supported(version: Sequence[object]) -> bool:
    """Return whether the game runs on a Python of this version, such as `sys.version_info`."""
    return tuple(version[:2]) in SUPPORTED


def supported_names() -> list[str]:
    """Return the supported versions as text, oldest first: `["3.11", ...]`."""
    return [f"{major}.{minor}" for major, minor in SUPPORTED]


def refusal(version: Sequence[object], executable: str) -> str:
    """Return a sentence that this Python is not supported, and which one here is."""
    names = supported_names()
    found = ".".join(str(part) for part in version[:2])
    wanted = ", ".join(names[:-1]) + " or " + names[-1]
    sentence = f"This game needs Python {wanted}; found {found} at {executable}."
    present = find_all()
    if present:
        best = sorted(present, key=_as_numbers)[-1]
        sentence += f" This machine has Python {best}: make play PYTHON={present[best]}"
    return sentence


def find_all(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Find one working interpreter for each supported version on PATH and under pyenv.

    Args:
        environ: where PATH, HOME and PYENV_ROOT are read from; the process's own by default.

    Returns:
        The path of an interpreter that can make environments, by version as text (`"3.12"`).
    """
    firsts = {name: next(_interpreters(name, environ), None) for name in supported_names()}
    return {name: str(first) for name, first in firsts.items() if first}


def find_fastest(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Find the fastest interpreter for each supported version, of all that `find_all` looks at.

    Builds of one version differ by a third: those of distributions are optimized with profiles.
    """
    fastest: dict[str, str] = {}
    for name in supported_names():
        places: dict[Path, Path] = {}
        for path in _interpreters(name, environ):
            places.setdefault(path.resolve(), path)
        if places:
            fastest[name] = str(min(places.values(), key=seconds))
    return fastest


def _interpreters(name: str, environ: Mapping[str, str]) -> Iterator[Path]:
    for folder in folders(environ):
        path = folder / f"python{name}"
        if ask(path) == name:
            yield path


def seconds(interpreter: Path) -> float:
    """Return the seconds of processor time that an interpreter takes for `TELL_SPEED`."""
    return float(ask(interpreter, TELL_SPEED) or "inf")


def ask(interpreter: Path, code: str = TELL_VERSION) -> str | None:
    """Return what code prints: by default an interpreter's version, `"3.12"`.

    Returns:
        None if it does not work or has no venv.
    """
    if not os.access(interpreter, os.X_OK):
        return None
    try:
        answer = subprocess.run(
            [str(interpreter), "-c", code],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=ASK_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.decode("utf-8", "replace").strip() if answer.returncode == 0 else None


def folders(environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield folders that may contain interpreters: those of PATH, then pyenv's, newest first."""
    for entry in environ.get("PATH", "").split(os.pathsep):
        if entry:
            yield Path(entry)
    for root in _pyenv_roots(environ):
        versions = root / "versions"
        if versions.is_dir():
            newest_first = sorted(versions.iterdir(), key=lambda path: _as_numbers(path.name))
            for version in reversed(newest_first):
                yield version / "bin"


def _pyenv_roots(environ: Mapping[str, str]) -> list[Path]:
    roots = [environ.get("PYENV_ROOT", ""), os.path.join(environ.get("HOME", ""), ".pyenv")]
    pyenv = shutil.which("pyenv", path=environ.get("PATH"))
    if pyenv:
        asked = subprocess.run(
            [pyenv, "root"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(environ),
            check=False,
        )
        roots.append(asked.stdout.decode("utf-8", "replace").strip())
    return [Path(root) for root in dict.fromkeys(roots) if root]


def _as_numbers(name: str) -> list[int]:
    return [int(part) for part in name.split(".") if part.isdigit()]
