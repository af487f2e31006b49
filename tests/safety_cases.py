"""Cases of safety: the promise in each, and what the system that we learned from did.

The tests of a case have its id in their names: `test_c6_...`. docs/safety_tests.md lists them.
"""

from dataclasses import dataclass

from tests.named_tests import Named, names_with_prefix


@dataclass(frozen=True)
class Case:
    """One case.

    Attributes:
        promise: the promise here.
        before: the behaviour of the original, "" if it was the same.
    """

    promise: str
    before: str = ""


CASES = {
    "c1": Case("unattended: refused at once, nobody is asked, nothing is granted"),
    "c2": Case(
        "interactive and yes: allowed, exactly the amount, in one question with all details"
    ),
    "c3": Case("interactive and no: refused"),
    "c4": Case("an unknown answer or none is a refusal"),
    "c5": Case("no way to ask: refused, with its own reason"),
    "c6": Case(
        "the time to answer runs out: refused, question closed, late answers are told so",
        "a late answer was lost, and nobody was told",
    ),
    "c7": Case(
        "asking itself fails: refused, reported, with its own reason",
        "it looked as if a person had said no",
    ),
    "c8": Case("auto_extend grants the configured number of times, then refuses"),
    "c9": Case("auto_extend counts separately for each task and each limit"),
    "c10": Case(
        "a finished task leaves no counter behind, even after ten thousand tasks",
        "counters were never freed: 2,001 after 2,000 tasks",
    ),
    "c11": Case(
        "nobody to ask: refused, with the same reason at every limit",
        "one limit extended itself, the others looked refused by a person",
    ),
    "c12": Case(
        "without a timeout a question waits; it ends when the last person who may answer leaves"
    ),
    "c13": Case(
        "cancelled while a question is open: the cancellation is passed on, nothing is left behind"
    ),
    "c14": Case(
        "three tasks that reach one limit together share one question and its answer",
        "three questions were asked",
    ),
    "c15": Case("an answer at the moment of the timeout: exactly one outcome", "untested"),
    "c16": Case(
        "a decision is final, and each one of every kind is recorded",
        "three kinds were not recorded",
    ),
    "l1": Case(
        "five steps, and each yes grants exactly what the question said",
        "a yes to two more granted four, the next eight",
    ),
    "l2": Case(
        "0 means no limit; an invalid value keeps the assistant from starting, and is named",
        "0 allowed no work at all, a typo waited for ever, True counted as 1",
    ),
    "l3": Case("model calls of a tick; an extension ends with the turn", "it lasted for ever"),
    "l4": Case(
        "hops: a grant also covers the reply; a refusal is announced and recorded",
        "the reply to a granted message was dropped silently",
    ),
    "l5": Case("waiting for another assistant ends on time, or is extended by the full time"),
    "l6": Case(
        "the look-up after the last allowed one asks; after a no, the results so far are told"
    ),
    "l7": Case(
        "the call beyond the cap is kept while a person is asked",
        "the output was discarded, and the model called again",
    ),
    "l8": Case(
        "the time limit of a tick interrupts a hanging call; a yes adds the time once, not twice",
        "it was checked only between calls, and a yes doubled it",
    ),
    "l9": Case("a model that uses up its time: one more period for each yes"),
    "l10": Case("3,451 calls in one reply: the first few run, each has a result and is recorded"),
    "l11": Case("a message at the limit passes, one character more is cut, refused or asked about"),
    "l12": Case(
        "a summary is cut to the configured cap, and both sizes are recorded",
        "the setting was read but never used",
    ),
    "l13": Case(
        "depth and number of delegates are granted separately; no assistant raises its own cap"
    ),
    "l14": Case(
        "25 turns of its own in a row, then a question; a person's message resets the count"
    ),
    "l15": Case(
        "money is reserved before a call and settled after it, also by two processes at once",
        "caps were checked before and counted after; a model without a price cost nothing",
    ),
    "i1": Case("a question survives a round trip through JSON"),
    "i2": Case("one question at a time is announced, in order"),
    "i3": Case("an answer by number applies to that question only"),
    "i4": Case(
        "key, word and letter in any case are understood; other answers leave it open",
        "`Y` and `yes` did not count as yes",
    ),
    "i5": Case("nobody there: refused at once; the last person leaves: questions for others stay"),
    "i6": Case(
        "questions whose people have left are listed, taken over or dropped, and recorded",
        "a question stayed listed after its end",
    ),
    "i7": Case("a restart while a question is open: it is asked again, an answer counts once"),
    "i8": Case("control codes and markup in a question are shown as text"),
    "i9": Case("a question from three assistants down the chain reaches the person at the top"),
    "i10": Case(
        "a refusal because nobody was there is not remembered as a no",
        "it was remembered, and nobody was ever asked again",
    ),
    "f1": Case(
        "every limit that ends a turn: recorded, then one call without tools, with the cause",
        "only two of twelve limits did this",
    ),
    "f2": Case(
        "the last call fails: staff read limit, value, key, mode and the partial result",
        "one limit named no key",
    ),
    "f3": Case(
        "the last call counts in the totals, within a reserve, and asks nobody",
        "its tokens were not counted, and it could ask",
    ),
    "f4": Case(
        "after any stop, each call in the history has its result",
        "a lockout left calls without a result",
    ),
    "a1": Case("each kind of mistake of a peer gets the protocol's error number, and words"),
    "a2": Case(
        "a limit reaches the peer with kind, choices and detail, by poll, stream and webhook",
        "this was not connected, and a limit was refused at once",
    ),
    "a3": Case("after a peer's yes the task goes on to its end; a no ends it as in the game"),
    "a4": Case(
        "a choice's id takes precedence over words; no answer leaves it open; a second is refused",
        "only helper functions were tested",
    ),
    "a5": Case(
        "nothing is told about unknown tasks or those of others; a finished task never changes",
        "a finished task could be cancelled, and started again",
    ),
    "a6": Case(
        "streams have event numbers, can be resumed, send keep-alives, and end",
        "events had no numbers, and an idle stream sent nothing",
    ),
    "a7": Case(
        "webhooks are called in order, signed, across failures and restarts; no private networks",
        "one that failed for five minutes was never called again; any address was called",
    ),
    "a8": Case(
        "a kill while a peer is asked: the question stays, or the task fails with a reason",
        "a task stayed under way for ever",
    ),
    "a9": Case(
        "a peer answers only questions of its own tasks, and limits only with the right to run",
        "any holder of the token answered for all",
    ),
    "a10": Case("nobody gets in without a token; discovery is open"),
    "b1": Case("as many steps as the cap, one more halts; a new task starts at zero"),
    "b2": Case(
        "a fully used budget is used up; NaN, negative and missing counts change nothing",
        "NaN switched the budget off, a negative count gave credit",
    ),
    "b3": Case("three equal failures: one alert; the fourth halts", "98 alerts and no halt"),
    "b4": Case(
        "other arguments make another call; their order and spacing do not",
        "another order of the same arguments counted as another call",
    ),
    "b5": Case(
        "eight failures in ten operations, in any order, halt; seven never do",
        "only one pattern in five halted",
    ),
    "b6": Case(
        "unknown tools, bad arguments, unreadable replies, denials all count; bad JSON never runs",
        "bad JSON was replaced by nothing, and run",
    ),
    "b7": Case("if several rules apply, the gravest decides", "the first in the list decided"),
    "b8": Case(
        "locked: messages are refused with a line, nothing is called, other assistants go on",
        "messages were dropped, and one task locked everybody",
    ),
    "b9": Case(
        "only people who may control it unlock it; history and usage stay",
        "anybody could unlock it, and that erased both",
    ),
    "b10": Case("lockout and budget survive a restart", "neither did"),
    "b11": Case(
        "a stop overtakes a hundred waiting messages; the call in flight is dropped, no tool runs",
        "it was number 101, and a tool ran after it",
    ),
    "b12": Case(
        "a stop during a tool, a question, a last word, twice, and while idle", "there was no stop"
    ),
    "b13": Case(
        "an exception in the loop is a named failure; the next message is answered",
        "the loop died silently",
    ),
    "b14": Case("the inbox keeps its order, even with a thousand messages"),
    "b15": Case(
        "random events, answers, timers, stops, unlocks and crashes break none of the promises",
        "there was no such test",
    ),
}


def find_tests() -> tuple[Named, ...]:
    """Return every test of a case."""
    return names_with_prefix("", CASES)
