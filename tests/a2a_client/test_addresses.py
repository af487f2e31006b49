"""The look-up of hosts that others name, apart from the game's other threads."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from evennia_ai.a2a_client.addresses import ResolvedAddress, UnknownHostError, locate

HERE = ("127.0.0.0/8", "::1/128")


def test_a_look_up_takes_no_thread_of_others() -> None:
    """A host is found even while every thread of the loop's own executor is busy."""
    release = threading.Event()

    async def find() -> ResolvedAddress:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(1))
        taken = loop.run_in_executor(None, release.wait)
        try:
            return await locate("http://localhost:80/", HERE, "networks")
        finally:
            release.set()
            await taken

    assert "localhost" == asyncio.run(find()).host


def test_a_host_that_nobody_knows() -> None:
    """An unknown host has its own error because a later look-up may find it."""
    with pytest.raises(UnknownHostError, match="Nobody knows the host"):
        asyncio.run(locate("http://nobody.invalid/", HERE, "networks"))
