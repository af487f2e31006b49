"""The process that the supervisor lives in: it detaches itself from whoever started it.

Run as `python -m evennia_ai.llm.local.daemon --state-dir DIR --name NAME -- HOST COMMAND...`. The
command returns once this supervisor is in charge of the folder, or another one is.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from evennia_ai.llm.local.lifetime import GameWatch, LifetimeConfig
from evennia_ai.llm.local.state import SupervisorLock
from evennia_ai.llm.local.supervisor import Supervisor, SupervisorConfig


def main(arguments: Sequence[str] | None = None) -> int:
    """Take charge of the folder in the background, unless another supervisor has it."""
    options = _parser().parse_args(arguments)
    state_dir: Path = options.state_dir
    # Taken before the fork: it is the open file's, which the child gets with all else.
    lock = SupervisorLock(state_dir)
    if not lock.acquire():
        return 0
    in_charge, taken = os.pipe()
    if os.fork():
        os.close(taken)
        return 0 if os.read(in_charge, 1) else 1
    os.close(in_charge)
    os.setsid()
    # It outlives whoever started it, whose folder it must not hold on to.
    os.chdir("/")
    # After the fork, as the child is the one that stays.
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
    for field in (*fields(LifetimeConfig), *fields(SupervisorConfig)):
        option = f"--{field.name.replace('_', '-')}"
        parser.add_argument(option, type=type(field.default), default=field.default)
    parser.add_argument("host", nargs="+", help="the host command, after --")
    return parser


if __name__ == "__main__":
    sys.exit(main())
