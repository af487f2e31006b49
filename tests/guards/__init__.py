"""Guards that keep an assistant in bounds, each with the test that fails without it.

`python -m tests.mutants` removes each of them once and runs its test. Every snippet must occur
exactly once in its file, so that an outdated row is noticed.
"""

from tests.guards.hearing import HEARING
from tests.guards.limits import LIMITS
from tests.guards.memory import MEMORY
from tests.guards.people import PEOPLE
from tests.guards.speaking import SPEAKING
from tests.guards.stopping import STOPPING
from tests.guards.table import Edit, Guard

__all__ = ["GUARDS", "Edit", "Guard"]

GUARDS = (*STOPPING, *LIMITS, *HEARING, *SPEAKING, *MEMORY, *PEOPLE)
