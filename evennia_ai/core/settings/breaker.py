"""The rest of a model's service that fails, and the attempts of a call, as they are set."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from evennia_ai.core.settings.model import LenientGroup, Number, Part, Whole, setting

Some = Annotated[Whole, Field(ge=1)]
Seconds = Annotated[Number, Field(gt=0)]


class BreakerConfig(LenientGroup):
    """The conditions on which a model's service is left alone, and asked again."""

    NAME: ClassVar[str] = "EVENNIA_AI_BREAKER_CONFIG"

    attempts: Some = setting(
        2,
        "attempts of one call; only what the last of them comes to is counted. An answer 429 with "
        "`Retry-After` is waited for, as long as the call has time, and not counted.",
    )
    failure_threshold: Some = setting(
        5,
        "calls that failed within the window; from so many on it is left alone, if the two next "
        "keys agree.",
    )
    failure_rate: Part = setting(
        0.5,
        "the share of all calls within the window that failed, 0 to 1; 0: any.",
        note="0 for any",
    )
    least_calls: Some = setting(10, "calls within the window; of fewer no share is taken.")
    window_seconds: Seconds = setting(120.0, "how long a call counts.")
    timeout_seconds: Seconds = setting(
        60.0, "how long the service is left alone, before one call tries it again."
    )
    success_threshold: Some = setting(
        1, "calls that have to go well then, one after the other, until all are made."
    )
    max_probes: Some = setting(1, "calls that may try it at the same time.")
