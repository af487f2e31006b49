"""Ties a server's program to the game: when the game is killed, Linux kills the program too.

Run by its path: `python tether.py <pid of the game> <program> <arguments>`; it then becomes that
program. A server normally sees its standard input close when the game ends, but one that hangs does
not read it any more.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> int:
    """Tie this process to its parent and become the program; returns only if that fails."""
    parent, *command = arguments
    # The setting is kept across `exec`, and cleared only for programs with setuid.
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != int(parent):  # the game ended before the call: no signal would come
        return 1
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
    return 127


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
