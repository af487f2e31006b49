"""The `eventsourcing` library's own test cases, as they are shipped.

They import its old cipher, which needs a package that nothing else here does. Its new one, of the
same name, needs one that Twisted brings along: that takes its place where the old one is missing.
"""

from __future__ import annotations

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
