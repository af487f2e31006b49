"""The shapes of Evennia's objects: names and types, and nothing that could run."""

import ast
import inspect
from typing import is_typeddict

import pytest

from evennia_ai.core import typed_objects

SHAPES = [
    kind
    for kind in vars(typed_objects).values()
    if inspect.isclass(kind) and kind.__module__ == typed_objects.__name__
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda kind: kind.__name__)
def test_a_shape_holds_no_code(shape: type) -> None:
    """Evennia's classes do not inherit from these protocols, so code in one would never run."""
    assert getattr(shape, "_is_protocol", False) or is_typeddict(shape)
    tree = ast.parse(inspect.getsource(shape))
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        assert all(isinstance(each, ast.Expr) for each in function.body), function.name
