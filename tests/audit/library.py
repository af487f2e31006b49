"""The test cases of the `eventsourcing` library, as they are shipped.

They import its old cipher, which needs a package that nothing else here needs. Where it is missing,
the library's new cipher of the same name, whose dependency Twisted brings along, takes its place.
"""

import importlib.util
import sys

from eventsourcing import cryptography

if importlib.util.find_spec("Crypto") is None:
    sys.modules.setdefault("eventsourcing.cipher", cryptography)

from eventsourcing.tests.application import (  # they need the line above
    ApplicationTestCase,
    ExampleApplicationTestCase,
)
from eventsourcing.tests.persistence import (
    AggregateRecorderTestCase,
    ApplicationRecorderTestCase,
    InfrastructureFactoryTestCase,
)

__all__ = [
    "AggregateRecorderTestCase",
    "ApplicationRecorderTestCase",
    "ApplicationTestCase",
    "ExampleApplicationTestCase",
    "InfrastructureFactoryTestCase",
]
