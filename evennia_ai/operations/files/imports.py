"""Files for import: from a folder that the game's settings name, or typed; never from a URL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from django.conf import settings

from evennia_ai.core.cards.character_card import MOST_BYTES
from evennia_ai.core.settings.game import GAME_SETTINGS
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.text.words import first_few
from evennia_ai.errors import ImportFileError

FOLDER = "EVENNIA_AI_IMPORT_FOLDER"
MOST_NAMED = 20
DEEPEST = 12  # levels of nesting
# Some builds of PyYAML lack the much faster one in C.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_import(name: str, most: int = MOST_BYTES) -> bytes:
    """Read a file from the import folder.

    Args:
        name: name of the file, or its path in the folder.
        most: bytes that it may have; a longer one is refused.

    Raises:
        ImportFileError: there is no such file, or it is too long; the text lists those there are.
    """
    folder = _folder()
    shown = one_line(name, 80)
    try:
        path = (folder / name.strip()).resolve(strict=True)
        # Resolved first: neither ".." nor a symbolic link leads out of the folder.
        if not (path.is_file() and path.is_relative_to(folder)):
            raise FileNotFoundError
        with path.open("rb") as file:
            # One byte more than allowed: a file that grows meanwhile is noticed too.
            raw = file.read(most + 1)
    except (OSError, ValueError):
        raise ImportFileError(
            f"there is no file {shown!r} in {folder}; {_listed(folder)}"
        ) from None
    if len(raw) > most:
        raise ImportFileError(f"{shown} has more than {most:,} bytes")
    return raw


def _folder() -> Path:
    setting = getattr(settings, FOLDER, GAME_SETTINGS[FOLDER].default)
    if not (isinstance(setting, str) and setting.strip()):
        raise ImportFileError(f"{FOLDER} names no folder, so nothing can be imported by name")
    return (Path(settings.GAME_DIR) / setting).resolve()


def _listed(folder: Path) -> str:
    try:
        names = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    except OSError:
        return "create that folder and put the file into it"
    return f"there are: {first_few(names, MOST_NAMED)}" if names else "it is empty"


def typed_and_rest(line: str) -> tuple[bytes, str]:
    """Split a typed line into the JSON object it begins with and the rest; b"" where there is none.

    Raises:
        ImportFileError: it begins with a brace but not with JSON.
    """
    if not line.startswith("{"):
        return b"", line
    try:
        _, end = json.JSONDecoder().raw_decode(line)
    except (ValueError, RecursionError) as error:
        raise ImportFileError(f"the typed text is not JSON: {one_line(str(error), 200)}") from None
    return line[:end].encode(), line[end:].strip()


# ---- YAML and JSON -----------------------------------------------------------------------------


def parse_plain(raw: bytes, most: int) -> Any:
    """Parse a JSON or YAML file into plain data.

    Raises:
        ImportFileError: it is neither, too long, or not plain data; the text says where.
    """
    if len(raw) > most:
        raise ImportFileError(f"the file has more than {most:,} bytes")
    try:
        text = raw.decode("utf-8-sig")
        if text.lstrip().startswith("{"):
            return json.loads(text, object_pairs_hook=once)
        # Before it is loaded: a few lines of anchors and aliases can grow to gigabytes.
        _check_yaml(text)
        return _plain(yaml.load(text, Loader=_Loader))
    except UnicodeDecodeError as error:
        raise ImportFileError(f"the file is not UTF-8 at byte {error.start}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        why = one_line(str(error), 300)
        raise ImportFileError(f"the file is neither JSON nor plain YAML: {why}") from None


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build a JSON object, as an `object_pairs_hook`.

    Raises:
        ValueError: a name occurs twice; some programs take the first value, others the last.
    """
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        raise ValueError("a name is repeated")
    return mapping


def _check_yaml(text: str) -> None:
    """Refuse what could expand beyond its size, and mappings with a name twice.

    Raises:
        ValueError: the text has such; the message says in which line.
    """
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise ValueError(f"line {event.start_mark.line + 1}: & and * are not allowed")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise ValueError(f"line {event.start_mark.line + 1}: nested more than {DEEPEST} deep")
    for node in _mappings(yaml.compose(text, Loader=_Loader)):
        names = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if len(set(names)) != len(node.value):
            line = node.start_mark.line + 1
            raise ValueError(f"line {line}: a name is repeated or is not text")


def _mappings(node: object) -> Iterator[Any]:
    if isinstance(node, yaml.MappingNode):
        yield node
        for _, value in node.value:
            yield from _mappings(value)
    elif isinstance(node, yaml.SequenceNode):
        for each in node.value:
            yield from _mappings(each)


def _plain(value: object) -> Any:
    # Refuses what YAML has and JSON has not, such as dates.
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (str, int, float)):
        return value
    raise ValueError(f"{one_line(repr(value), 60)} is not text, number, list or mapping")
