"""Which channels an assistant listens to, and what it does there."""

from __future__ import annotations

from typing import Any

from evennia.comms.models import ChannelDB
from evennia.utils.search import search_channel

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.operations.result import Result
from evennia_ai.runtime import state
from evennia_ai.runtime.rights import lets

LEAVE = "leave"
MODES = ("trigger", "context", "ignore", LEAVE)


def set_channel(script: AssistantScript, name: str, mode: str, *, person: Any = None) -> Result:
    """Let an assistant listen to a channel, or leave it.

    Args:
        name: key or alias of the channel.
        mode: "trigger" (answer everything), "context" (only take note), "ignore" (answer only when
            addressed), or "leave".
        person: who does it, and must be allowed to listen there too; None for code.
    """
    found = search_channel(name.strip())
    if len(found) != 1:
        known = ", ".join(sorted(channel.key for channel in ChannelDB.objects.all()))
        return Result(False, f"There is no channel named {name.strip()!r}. There are: {known}.")
    if mode not in MODES:
        return Result(False, f"{mode!r} is not something to do on a channel: {', '.join(MODES)}.")
    channel, who = found[0], script.key
    configs = dict(state.read(script, "channel_configs"))
    stored = next((key for key in configs if key.casefold() == channel.key.casefold()), None)
    old = configs.pop(stored, None)
    if mode == LEAVE:
        channel.disconnect(script.obj)
        state.write(script, channel_configs=configs)
        return Result(True, f"{who} does not listen to {channel.key} any more.")
    if not channel.access(script.obj, "listen"):
        return Result(False, f"{who} may not listen to {channel.key}: the channel is locked.")
    if person is not None and not lets(channel, person, "listen"):
        return Result(False, f"You may not listen to {channel.key}, and so {who} may not for you.")
    if not channel.subscriptions.has(script.obj):
        channel.connect(script.obj)
    configs[channel.key] = {**old, "mode": mode} if isinstance(old, dict) else mode
    state.write(script, channel_configs=configs)
    return Result(True, f"{who} listens to {channel.key}: {mode}.", {"channels": configs})
