"""Asks a mother process for a fork that becomes a program, and exits with its code.

    python -I -S born.py SOCKET PROGRAM ARGUMENT...

A game's portal runs this in place of the program. It imports next to nothing.
"""

import json
import os
import socket
import sys


def main() -> int:
    """Ask, wait, and return the exit code of the program."""
    request = {
        "command": sys.argv[2:],
        "folder": os.getcwd(),
        "environment": dict(os.environ),
    }
    body = json.dumps(request).encode()
    with socket.socket(socket.AF_UNIX) as mother:
        mother.connect(sys.argv[1])
        socket.send_fds(mother, [len(body).to_bytes(8)], [0, 1, 2])
        mother.sendall(body)
        code = mother.makefile("rb").read().rpartition(b"\n")[2]
    # A killed mother sends nothing.
    return int(code or b"1")


if __name__ == "__main__":
    sys.exit(main())
