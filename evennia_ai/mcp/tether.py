"""Becomes a server's program, tied to the game: when the game is killed, Linux ends it too.

Run by its path, before the program: `python tether.py <pid of the game> <program> <arguments>`. A
server reads of the game's end on its standard input, but one that hangs does not read any more.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> int:
    """Tie this process to its parent and become the program; returns only when that fails."""
    parent, *command = arguments
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != int(parent):  # it ended before we could ask to hear of it
        return 1
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
    return 127


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
