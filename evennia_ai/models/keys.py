"""Keys of new things: rows, messages, calls. No two are the same, and none is a secret.

A module of its own, since whatever has rows needs them. `uuid4` asks the system for each, and while
it does another thread goes first: milliseconds in the middle of a reply.
"""

from __future__ import annotations

import os
import random

_chance = random.Random(os.urandom(32))
# A process that was made of this one must not go on with the same keys.
os.register_at_fork(after_in_child=_chance.seed)


def new_key(digits: int = 32) -> str:
    """So many digits from 0 to f that nothing else has."""
    return f"{_chance.getrandbits(4 * digits):0{digits}x}"
