"""Cases of safety: the promise in each, and what the system that we learned from did.

The tests of a case have its id in their names: `test_c6_...`. docs/safety_tests.md lists them.
"""

from __future__ import annotations

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
    "c2": Case("interactive and yes: allowed, exactly the amount, one question with all it needs"),
    "c3": Case("interactive and no: refused"),
    "c4": Case("an unknown answer or none is a refusal"),
    "c5": Case("no way to ask: refused, with a reason of its own"),
    "c6": Case(
        "the time to answer runs out: refused, the question is gone, a late answer is told so",
        "a late answer went nowhere, and nobody was told",
    ),
    "c7": Case(
        "asking itself fails: refused, reported, with a reason of its own",
        "it read as if a person had said no",
    ),
    "c8": Case("auto_extend grants as often as it is set to, then refuses"),
    "c9": Case("auto_extend counts for each task and each limit by itself"),
    "c10": Case(
        "a task that ends leaves no counter behind, after ten thousand as after one",
        "counters were never freed: 2,001 after 2,000 tasks",
    ),
    "c11": Case(
        "nobody to ask: refused with one reason at every limit",
        "one limit extended itself, the others read as refused by a person",
    ),
    "c12": Case("without a timeout a question waits; when the last who may answer leaves, it ends"),
    "c13": Case("cancelled while asked: the cancellation goes through, nothing is left behind"),
    "c14": Case(
        "three that reach one limit together share one question and its answer",
        "three questions were asked",
    ),
    "c15": Case("an answer at the very moment of the timeout: exactly one outcome", "untested"),
    "c16": Case(
        "a decision cannot be changed, and each of every kind is recorded",
        "for three kinds nothing was recorded",
    ),
    "l1": Case(
        "five steps, and each yes gives exactly what the question said",
        "a yes to two more gave four, the next eight",
    ),
    "l2": Case(
        "0 means no limit; what makes no sense keeps the assistant from starting, and is named",
        "0 gave no work at all, a typing error waited for ever, True counted as 1",
    ),
    "l3": Case("model calls of a tick; an extension dies with the turn", "it lasted for ever"),
    "l4": Case(
        "hops: what was granted holds on the way back too; refused, it is told and recorded",
        "the reply to a granted message was dropped in silence",
    ),
    "l5": Case("waiting for another assistant ends on the second, or goes on for a full time more"),
    "l6": Case("the visit after the last one asks; refused, what was found is told"),
    "l7": Case(
        "the call beyond the cap is kept while somebody is asked",
        "the output was thrown away, and the model asked anew",
    ),
    "l8": Case(
        "the clock of a tick interrupts a call that hangs; a yes adds one time, not two",
        "it was looked at only between calls, and a yes doubled it",
    ),
    "l9": Case("a model that takes all its time: one more window for each yes"),
    "l10": Case("3,451 calls in one reply: the first few are run, all is aligned and recorded"),
    "l11": Case("a message at the bound passes, one character more is cut, refused or asked about"),
    "l12": Case(
        "a summary is cut to the cap that is set, and both sizes are recorded",
        "the setting was read and used nowhere",
    ),
    "l13": Case("depth and number of delegates are granted apart; nobody raises its own cap"),
    "l14": Case("25 turns of its own in a row, then a question; a person's words begin anew"),
    "l15": Case(
        "money is reserved before a call and settled after it, also by two at once",
        "caps were checked before and counted after; a model without a price cost nothing",
    ),
    "i1": Case("a question goes to JSON and back"),
    "i2": Case("one question at a time is announced, in order"),
    "i3": Case("an answer by number hits that question and no other"),
    "i4": Case(
        "key, word and letter in any case are understood; others leave the question open",
        "`Y` and `yes` were no yes",
    ),
    "i5": Case("nobody there: refused at once; the last one leaves: what others can answer stays"),
    "i6": Case(
        "questions whose people are gone are listed, taken over or dropped, all of it recorded",
        "a question stayed listed after its end",
    ),
    "i7": Case("a restart while a question is open: it is asked again, an answer is used once"),
    "i8": Case("control codes and markup in a question show as text"),
    "i9": Case("a question three assistants down reaches the person at the top"),
    "i10": Case(
        "a refusal because nobody was there is not remembered as a no",
        "it was, and nobody was ever asked again",
    ),
    "f1": Case(
        "every limit that ends a turn: recorded, then one call without tools, cause in its prompt",
        "two limits of twelve had it",
    ),
    "f2": Case(
        "the last call gives nothing: staff read limit and value, key and mode, and what there is",
        "one limit named no key and had no mark",
    ),
    "f3": Case(
        "the last call is in the totals, inside a reserve, and asks nobody",
        "its tokens were not counted, and it could ask",
    ),
    "f4": Case(
        "after any stop each call in the history has its result", "a lockout left calls without one"
    ),
    "a1": Case("each kind of mistake of a peer's has the protocol's own number, and words"),
    "a2": Case(
        "a limit reaches the peer: kind, choices and detail, by asking, by stream and by webhook",
        "the link was missing, and a limit was refused at once",
    ),
    "a3": Case("a peer's yes lets the task go on to its end; a no ends it as in the game"),
    "a4": Case(
        "the id of a choice goes before words; no answer leaves it open; a second is told so",
        "only helpers of it were tested",
    ),
    "a5": Case(
        "of an unknown task or another's nothing is told; a task that is over never changes",
        "a finished task could be cancelled, and set to work again",
    ),
    "a6": Case(
        "streams have numbers, go on after the last one, are heard of when idle, and end",
        "events had no numbers, and an idle stream said nothing",
    ),
    "a7": Case(
        "addresses are told in order, signed, over failures and restarts; never within a network",
        "one that was quiet for five minutes was dead for ever; any address was posted to",
    ),
    "a8": Case(
        "a kill while a peer is asked: the question stays, or the task has failed, in words",
        "a task stayed at work for ever",
    ),
    "a9": Case(
        "a peer answers for its own tasks only, and for limits with the right to run it",
        "whoever had the token answered for all",
    ),
    "a10": Case("without a token nobody comes in; a question beforehand is free"),
    "b1": Case("as many steps as the cap, one more halts; a new task begins anew"),
    "b2": Case(
        "all tokens used is used up; NaN, negative and missing counts change nothing",
        "NaN switched the budget off, a negative count gave credit",
    ),
    "b3": Case("three equal failures: one alert; the fourth halts", "98 alerts and no end"),
    "b4": Case(
        "other arguments are another call; order and spacing of arguments are not",
        "another order of the same arguments was another call",
    ),
    "b5": Case(
        "eight of ten operations wrong, in whatever order, halt; seven never do",
        "only one pattern in five ever did",
    ),
    "b6": Case(
        "unknown tools, bad arguments, unreadable replies, denials all count; bad JSON never runs",
        "bad JSON was replaced by nothing, and run",
    ),
    "b7": Case("of several rules the gravest decides", "the first in the list did"),
    "b8": Case(
        "locked: messages are returned with a word, nothing is called, others go on",
        "messages were thrown away, and one task locked everybody",
    ),
    "b9": Case(
        "only who may control it unlocks; history and what was spent stay",
        "anybody could, and it wiped both",
    ),
    "b10": Case("lockout and budget outlive a restart", "neither did"),
    "b11": Case(
        "a kill goes before a hundred that wait; the call in flight is dropped, no tool begins",
        "it was the 101st, and a tool ran after it",
    ),
    "b12": Case("a kill during a tool, a question, a last word, twice and idle", "there was none"),
    "b13": Case(
        "an exception in the loop is a failure with a name; the next message is answered",
        "the loop died in silence",
    ),
    "b14": Case("the inbox keeps its order, also with a thousand messages"),
    "b15": Case(
        "random events, answers, timers, kills, unlocks and crashes break none of the promises",
        "there was no such test",
    ),
}


def find_tests() -> tuple[Named, ...]:
    """Return every test of a case."""
    return names_with_prefix("", CASES)
