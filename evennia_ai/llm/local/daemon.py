"""The supervisor's process, which detaches itself from the one that started it.

Run as `python -m evennia_ai.llm.local.daemon --state-dir DIR --name NAME -- HOST COMMAND...`. The
command returns once the folder has a supervisor, this one or another.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from evennia_ai.llm.local.state import SupervisorLock
from evennia_ai.llm.local.supervisor import GameWatch, LifetimeConfig, Supervisor, SupervisorConfig


def main(arguments: Sequence[str] | None = None) -> int:
    """Supervise the folder in the background, unless another supervisor does."""
    options = _parser().parse_args(arguments)
    state_dir: Path = options.state_dir
    # Before the fork, so that a second daemon ends here. `flock` belongs to the open file
    # description, which the child inherits.
    lock = SupervisorLock(state_dir)
    if not lock.acquire():
        return 0
    in_charge, taken = os.pipe()
    if os.fork():
        # One byte says that the child is in charge; end of file, that it died before that.
        os.close(taken)
        return 0 if os.read(in_charge, 1) else 1
    os.close(in_charge)
    os.setsid()
    # The daemon must not keep the caller's directory in use.
    os.chdir("/")
    # After the fork: the lock file names the child's pid.
    lock.sign()
    given = vars(options)
    lifetime = LifetimeConfig(**{field.name: given[field.name] for field in fields(LifetimeConfig)})
    config = SupervisorConfig(
        **{field.name: given[field.name] for field in fields(SupervisorConfig)}
    )
    watch = GameWatch(options.stop_with, time.monotonic(), lifetime) if options.stop_with else None
    supervisor = Supervisor(state_dir, options.name, options.host, lock, watch, config)
    supervisor.take_charge()
    os.write(taken, b"1")
    os.close(taken)
    supervisor.run()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="evennia_ai.llm.local.daemon", description=__doc__)
    parser.add_argument("--state-dir", type=Path, required=True)
    parser.add_argument("--name", required=True, help="what the model is called in the API")
    parser.add_argument("--stop-with", type=Path, help="pid file of the game to end with")
    # One option for each field; `main` reads them back by name.
    for field in (*fields(LifetimeConfig), *fields(SupervisorConfig)):
        option = f"--{field.name.replace('_', '-')}"
        parser.add_argument(option, type=type(field.default), default=field.default)
    parser.add_argument("host", nargs="+", help="the host command, after --")
    return parser


if __name__ == "__main__":
    sys.exit(main())
