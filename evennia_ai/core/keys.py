"""Unique keys for rows, messages and calls. They are not secrets.

`uuid4` makes a system call for each key, which releases the GIL; getting it back may take
milliseconds in the middle of a reply.
"""

from __future__ import annotations

import os
import random

_chance = random.Random(os.urandom(32))
# A forked process must not produce the same keys as its parent.
os.register_at_fork(after_in_child=_chance.seed)


def new_key(digits: int = 32) -> str:
    """A unique key of hexadecimal digits."""
    return f"{_chance.getrandbits(4 * digits):0{digits}x}"
