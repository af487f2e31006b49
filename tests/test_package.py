"""The package as other games see it: public names, pins, and the wheel."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
from importlib.metadata import requires
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import evennia_ai
from evennia_ai.errors import CircuitOpenError
from server.play.environment import trusting


def test_public_names_are_imported_when_used() -> None:
    assert CircuitOpenError is evennia_ai.CircuitOpenError


def test_public_names_are_listed() -> None:
    assert sorted(evennia_ai.__all__) == evennia_ai.__all__
    assert set(evennia_ai.__all__) <= set(dir(evennia_ai))


def test_unknown_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="module 'evennia_ai' has no attribute 'Robot'"):
        _ = evennia_ai.Robot


ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13")


def _pins(lines: list[str]) -> dict[str, set[tuple[str, str]]]:
    """Return names and versions, for each Python on Linux."""
    pins: dict[str, set[tuple[str, str]]] = {version: set() for version in PYTHONS}
    for line in lines:
        pin = Requirement(line)
        for version, chosen in pins.items():
            machine = {"platform_machine": "x86_64", "sys_platform": "linux"}
            python = {"python_version": version, "python_full_version": f"{version}.1"}
            if pin.marker is None or pin.marker.evaluate({**machine, **python}):
                chosen.add((canonicalize_name(pin.name), str(pin.specifier)))
    return pins


def test_hole_c18_every_pin_has_hashes() -> None:
    """requirements.lock has the versions of requirements.txt, with hashes, from no other index."""
    pinned = (ROOT / "requirements.txt").read_text("utf-8").splitlines()
    locked = (ROOT / "requirements.lock").read_text("utf-8").replace("\\\n", "").splitlines()
    entries = [line.split(" --hash=") for line in locked if line and not line.startswith("#")]
    assert _pins([line for line in pinned if line and not line.startswith("#")]) == _pins(
        [pin.strip() for pin, *_ in entries]
    )
    for _, *hashes in entries:
        assert hashes
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}\s*", each) for each in hashes)
    assert not re.search(r"://|^-|index", "\n".join(locked))


def test_the_wheel_holds_the_whole_package_and_nothing_of_an_earlier_build(tmp_path: Path) -> None:
    # uv fetches the build tools, and does not read pip's certificates.
    asked = [sys.executable, "-m", "pip", "config", "list"]
    output = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    checkout, stale = tmp_path / "checkout", tmp_path / "checkout/build/lib/evennia_ai/deleted.py"
    unneeded = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "evennia_ai", checkout / "evennia_ai", ignore=unneeded)
    for name in ("setup.py", "setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, checkout)
    stale.parent.mkdir(parents=True)
    stale.touch()
    # Both from the checkout, as pip builds it; by itself, uv would build from the archive.
    build = ["uv", "build", "--quiet", "--sdist", "--wheel", "--out-dir", str(tmp_path)]
    subprocess.run([*build, str(checkout)], env={**trusting(output), **os.environ}, check=True)
    (wheel,), (archive,) = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    with ZipFile(wheel) as packed:
        names = {name for name in packed.namelist() if ".dist-info/" not in name}
    with tarfile.open(archive) as sources:
        archived = {name.partition("/")[2] for name in sources.getnames()}
    files = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "evennia_ai").rglob("*")
        if path.suffix in (".py", ".typed", ".html", ".css", ".js")
    }
    assert files == names
    assert files <= archived


def test_all_that_is_imported_is_named() -> None:
    """Evennia's own requirements may change, so all direct imports are required here."""
    needed = {canonicalize_name(Requirement(line).name) for line in requires("evennia-ai") or ()}
    assert {"evennia", "twisted", "django", "openai", "mem0ai"} <= needed
