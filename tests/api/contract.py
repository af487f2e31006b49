"""An OpenAPI schema as lines, each a promise to clients about requests or responses."""

from collections.abc import Iterator
from typing import Any

METHODS = ("get", "post", "put", "patch", "delete")
PREFIX = "/api/ai/"
BOUNDS = ("pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")
JSON = "application/json"
PROBLEM = {"$ref": "#/components/schemas/Problem"}
FIRST_WRONG = 400


def promises(schema: dict[str, Any]) -> set[str]:
    """Describe every method, parameter and field in one line each; error fields come once."""
    wrong = {f"whatever goes wrong{line}" for line in _fields(schema, PROBLEM)}
    return wrong | {
        f"{method.upper()} {path.removeprefix(PREFIX)} {line}"
        for path, operations in schema["paths"].items()
        for method in METHODS
        if method in operations
        for line in _of_operation(schema, operations[method])
    }


def _of_operation(schema: dict[str, Any], operation: dict[str, Any]) -> Iterator[str]:
    yield f"is {operation['operationId']}, {operation['security']}"
    for given in operation.get("parameters", ()):
        need = "" if given.get("required") else ", optional"
        yield f"{given['in']} {given['name']}: {_type(schema, given['schema'])}{need}"
    body = operation.get("requestBody", {})
    for part in body.get("content", {}).values():
        yield f"body is {'needed' if body.get('required') else 'optional'}"
        yield from (f"body{line}" for line in _fields(schema, part["schema"]))
        yield from (f"body example {name}" for name in part.get("examples", ()))
    codes = [
        " ".join((code, *response.get("headers", ())))
        for code, response in operation["responses"].items()
        if int(code) >= FIRST_WRONG and response["content"][JSON]["schema"] == PROBLEM
    ]
    yield f"may go wrong with {', '.join(codes)}"
    for code, response in operation["responses"].items():
        if int(code) >= FIRST_WRONG:
            continue
        yield code
        for media, part in response.get("content", {}).items():
            kind = "" if media == JSON else f" {media}"
            yield from (f"{code}{kind}{line}" for line in _fields(schema, part["schema"]))
            yield from (f"{code} example {name}" for name in part.get("examples", ()))


def _fields(schema: dict[str, Any], part: dict[str, Any], path: str = "") -> Iterator[str]:
    """Yield the fields of a body, including those of nested lists and mappings."""
    part, may_be_null = resolved(schema, part)
    if "properties" not in part:
        where = "[]" if part.get("type") == "array" else "{}"
        inside = part.get("items", part.get("additionalProperties"))
        inside = inside if isinstance(inside, dict) else {}
        if path or not inside:
            yield f"{path}: {_type(schema, part, may_be_null=may_be_null)}"
        if resolved(schema, inside)[0].get("properties"):
            yield from _fields(schema, inside, f"{path}{where}")
        return
    yield f"{path}: {_type(schema, part, may_be_null=may_be_null)}"
    for name, inside in part["properties"].items():
        need = "" if name in part.get("required", ()) else "?"
        yield from _fields(schema, inside, f"{path}.{name}{need}")


def resolved(schema: dict[str, Any], part: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Resolve references and `allOf`; return the part and True where it may be null."""
    may_be_null = bool(part.get("nullable"))
    if "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        shape, is_null = resolved(schema, schema["components"]["schemas"][name])
        return shape, may_be_null or is_null
    if "anyOf" in part:
        value, nothing = part["anyOf"]
        return resolved(schema, value)[0], [None] == nothing["enum"]
    if "allOf" not in part:
        return part, may_be_null
    result: dict[str, Any] = {"properties": {}, "required": []}
    for each in part["allOf"]:
        shape, is_null = resolved(schema, each)
        may_be_null = may_be_null or is_null
        result["properties"] |= shape.get("properties", {})
        result["required"] += shape.get("required", [])
        result |= {name: value for name, value in shape.items() if name not in result}
    if not result["properties"]:
        del result["properties"], result["required"]
    return result, may_be_null


def _type(schema: dict[str, Any], part: dict[str, Any], *, may_be_null: bool = False) -> str:
    part, is_null = resolved(schema, part)
    kind = str(part.get("type", "anything"))
    if kind == "array":
        kind = f"list of {_type(schema, part['items'])}"
    elif isinstance(others := part.get("additionalProperties"), dict):
        kind = f"mapping of {_type(schema, others)}"
    elif others is not None:
        kind = "mapping of anything" if others else f"{kind} of no other"
    bounds = [f"{name} {part[name]}" for name in BOUNDS if name in part]
    words = [f"one of {sorted(part['enum'])}"] if "enum" in part else []
    null = ["or null"] if may_be_null or is_null else []
    return ", ".join([kind, *words, *bounds, *null])
