"""The lines of the library's residents, as patterns to search a transcript for."""

import re

from tests.fakes.answers import compose_reply
from world.residents import RESIDENTS

ADA = next(resident for resident in RESIDENTS if resident.name == "Ada")
FAILURE = ADA.failure
SPENT = 'Ada stifles a yawn. "I have said all I can this month. Ask me in the next."'
FAILURE_PATTERN = re.escape(FAILURE)
THINKING_PATTERN = "|".join(re.escape(line) for line in ADA.thinking)


def whisper_of(words: str, name: str = "Ada") -> str:
    """A pattern for an assistant's whispered answer to `words`."""
    return rf'{name} whispers: "{re.escape(compose_reply(words))}"'


def say_of(words: str) -> str:
    """A pattern for Ada's answer to `words`, said aloud."""
    return rf'Ada says, "{re.escape(compose_reply(words))}"'
