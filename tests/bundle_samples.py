"""Minimal file of an assistant that moves between games."""

from evennia_ai.operations.bundles import file
from evennia_ai.operations.bundles import parts as bundle_parts
from evennia_ai.runtime.game_thread import finish


def empty(name: str = "Edda") -> bytes:
    """Return the file of an assistant that knows nothing and nobody."""
    head = {"version": "0.1.0", "game": "Harbour", "exported_at": 0.0, "name": name, "desc": ""}
    head |= {"aliases": [], "stopped": None, "left_out": []}
    state = {"goals": {}, "notes": [], "projects": {}, "unremembered": [], "muted_by": []}
    parts = dict.fromkeys(bundle_parts.MEMBERS, b"")
    del parts[bundle_parts.CARD]
    parts[bundle_parts.SETTINGS] = b"{}"
    parts[bundle_parts.STATE] = file.json_of(state)
    return finish(file.write_bundle(head, parts))
