"""How far a message is believed, by the way it arrived. 0 is not at all, 1 is fully."""

from __future__ import annotations

BASE_TRUST = {
    "whisper": 0.9,
    "page": 0.9,
    "channel": 0.6,
    "say": 0.4,
    "pose": 0.3,
    "emit": 0.2,
}
ADDRESSED_TRUST = 0.7
UNKNOWN_TRUST = 0.2


def base_trust(source: str, *, addressed: bool) -> float:
    """Trust in a message: what its source deserves, and at least 0.7 when it names the listener."""
    trust = BASE_TRUST.get(source, UNKNOWN_TRUST)
    return max(trust, ADDRESSED_TRUST) if addressed else trust
