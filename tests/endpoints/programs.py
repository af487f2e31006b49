"""Third-party programs that imitate model services, each on a free port until it is ended.

`make endpoints` installs them: the LiteLLM proxy, aimock and llmock, and the MCP inspector, in the
versions that the files beside this one pin.
"""

import os
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

from tests.journeys.ports import ClaimedPorts

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / ".venvs" / "endpoints"
PACKAGES = PLACE / "node_modules"
AIMOCK = ("node", str(PACKAGES / "@copilotkit" / "aimock" / "dist" / "cli.js"))
LLMOCK = ("node", str(PACKAGES / "llmock" / "bin" / "llmock.js"))
INSPECTOR = (
    "node",
    str(PACKAGES / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"),
)
LITELLM = (str(PLACE / "python" / "bin" / "litellm"),)
START_SECONDS = 180.0
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def lacks() -> str:
    """One sentence about what is missing on this machine, or ""."""
    absent = [path for path in (AIMOCK[1], LLMOCK[1], LITELLM[0]) if not Path(path).is_file()]
    return f"NO REAL ENDPOINT IS TESTED: `make endpoints` gets {len(absent)}" if absent else ""


@contextmanager
def running(
    command: Sequence[str], *, folder: Path, ready: str, env: Mapping[str, str] = {}
) -> Iterator[str]:
    """Run a program, and give its base address once it answers.

    Args:
        command: its words; `{port}` stands for the port.
        folder: its working directory, which gets its log.
        ready: a path that it answers, with any status, once it is up.
        env: variables beside those of this process.

    Raises:
        AssertionError: it ended, or did not answer in time; the message holds its log.
    """
    claimed = ClaimedPorts(1)
    port = claimed.numbers[0]
    log = folder / "endpoint.log"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [part.format(port=port) for part in command],
            cwd=folder,
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    root = f"http://127.0.0.1:{port}"
    try:
        _await(process, f"{root}{ready}", log)
        yield root
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        claimed.release()


def _await(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    until = monotonic() + START_SECONDS
    while not _answers(url):
        output = log.read_text("utf-8", "replace")[-4000:]
        assert process.poll() is None, f"ended with {process.returncode}\n{output}"
        assert monotonic() < until, f"no answer at {url}\n{output}"
        sleep(0.1)


def _answers(url: str) -> bool:
    try:
        _OPENER.open(url, timeout=5).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True
