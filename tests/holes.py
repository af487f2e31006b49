"""Holes that were once open, and the rule that closes each.

The tests of a hole have its id in their names: `test_hole_a2_...`. docs/safety_tests.md lists them.
"""

from tests.named_tests import Named, names_with_prefix

HOLES = {
    "a1": "an account or character cannot take the name of an assistant, or one that looks like it",
    "a2": "a person who walks in while the model thinks does not hear what was meant for another",
    "a3": "what one person said in private reaches nobody else in any way, whatever the model does",
    "a4": "a task for a specialist, and its report, are as private as the turn that gave it",
    "a5": "what it whispered to one person is in no prompt for another",
    "a6": "private words are neither in the log nor in the audit log",
    "a7": "staff who read private words are recorded, whichever way they read them",
    "a8": "one model call of a night never contains the private entries of two people",
    "b9": "people who may control an assistant can neither relock, force nor puppet its body",
    "b10": "nothing is done by hand that the person or the assistant may not do",
    "b11": "each act needs its own right: control does not allow deleting memories or moving it",
    "b12": "one person cannot get an assistant locked for everybody, whatever the model does",
    "b13": "a quelled builder is quelled over REST too, even when offline",
    "c14": "a token ends with the password and with a ban, and is stored as a hash",
    "c15": "a forged address lifts no limit, a client uses up only its own, names are not revealed",
    "c16": "a request without a cookie writes no session",
    "c17": "no reply of a model blocks the game, however long and odd it is",
    "c18": "tracebacks, unpinned files, other users and stacked marks do no harm",
    "c19": "two games start side by side, and another program on a port is named",
    "d20": "no summary and no night's reply blocks the game",
    "d21": "only people with a right over a cap's account can extend it",
    "d22": "the max_tokens that is sent is what was reserved, so a cap cannot be exceeded",
    "d23": "impossible usage counts as the estimate, and thinking tokens count",
    "d24": "each attempt that may have cost something is a row of the ledger",
    "d25": "the person who began a chain of assistants pays for all of it, and its limits cover it",
    "d26": "refusals of one person's input make that person wait and lock nobody else out",
    "d27": "a question asked in private waits across a restart for its person",
    "d28": "a stopped assistant sends nothing, including embeddings",
    "d29": "nothing is paid for an asker who has left, and no limit can be bypassed",
    "d30": "each guard has a test that fails without it",
}
PREFIX = "hole"


def find_tests() -> tuple[Named, ...]:
    """Return every test of a hole."""
    return names_with_prefix(PREFIX, HOLES)
