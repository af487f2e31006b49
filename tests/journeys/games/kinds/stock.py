"""A game as `evennia --init` makes it."""

from tests.journeys.games.visit import Kind

KINDS = (Kind("stock", "stock, as `evennia --init` makes it"),)
