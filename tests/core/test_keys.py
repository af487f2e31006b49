"""`new_key`: hexadecimal keys of the requested length, unique also after a fork."""

import os

import pytest

from evennia_ai.core.keys import new_key

MANY = 2_000


@pytest.mark.parametrize("digits", [8, 12, 32])
def test_a_key_has_its_digits(digits: int) -> None:
    for key in (new_key(digits) for _ in range(MANY)):
        assert digits == len(key)
        assert set(key) <= set("0123456789abcdef")


def test_no_key_comes_twice() -> None:
    assert MANY == len({new_key() for _ in range(MANY)})


def test_a_child_process_has_other_keys() -> None:
    """Evennia forks at its start, and the child must not repeat its parent's keys."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, new_key().encode())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = os.read(reader, 32).decode()
    os.close(reader)
    os.close(writer)
    assert theirs not in {new_key() for _ in range(3)}
