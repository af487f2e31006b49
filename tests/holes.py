"""Holes that were once open, and the rule that closes each.

The tests of a hole have its id in their names: `test_hole_a2_...`. docs/safety_tests.md lists them.
"""

from __future__ import annotations

from tests.named_tests import Named, names_with_prefix

HOLES = {
    "a1": "an account or character cannot take the name of an assistant, or one that looks like it",
    "a2": "who walks in while the model thinks does not hear what was meant for one person",
    "a3": "what one person told in private leaves by no way to another, whatever the model does",
    "a4": "a task for a specialist, and its report, are as private as the turn that gave it",
    "a5": "what it whispered to one person stands in no prompt for another",
    "a6": "private words stand neither in the log nor in the audit log",
    "a7": "staff who read private words are on record, by every way of reading",
    "a8": "one call of a night never holds the private entries of two people",
    "b9": "who may control an assistant can neither relock, force nor puppet its body",
    "b10": "by hand nothing is done that the person or the assistant may not do",
    "b11": "each act asks its own right: to control is not to delete memories, nor to move it",
    "b12": "one person cannot get an assistant locked for all, whatever the model does",
    "b13": "a quelled builder is quelled over REST too, also when offline",
    "c14": "a token ends with the password and with a ban, and is stored hashed",
    "c15": "a forged address lifts no limit, one client uses up nobody else's, names are not told",
    "c16": "a request without a cookie writes no session",
    "c17": "no reply of a model holds the game up, however long and odd it is",
    "c18": "tracebacks, unpinned files, other users and stacked marks get nowhere",
    "c19": "two games start side by side, and a foreign server on a port is named",
    "d20": "no summary and no night's reply holds the game up",
    "d21": "a cap is extended only by who has the right over the account it belongs to",
    "d22": "what is sent as max_tokens is what was reserved, so a cap is not passed",
    "d23": "impossible usage counts as the estimate, and thinking tokens count",
    "d24": "each attempt that may have cost something is a row of the ledger",
    "d25": "who began a chain of assistants pays for all of it, and its limits hold over all of it",
    "d26": "refusals of one person's input cool that person off and lock nobody else out",
    "d27": "what was asked in private waits over a restart for its person",
    "d28": "who is stopped sends nothing, embeddings included",
    "d29": "nothing is paid for an asker who has left, and no limit has a way round it",
    "d30": "each guard has a test that fails without it",
}
PREFIX = "hole"


def find_tests() -> tuple[Named, ...]:
    """Return every test of a hole."""
    return names_with_prefix(PREFIX, HOLES)
