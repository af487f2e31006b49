"""Talk with an assistant: told, asked and answered from afar, what it hears, and its goals.

What a game's own code calls is given on here.
"""

from evennia_ai.operations.conversation.talk import ask, find_request, tell

__all__ = ["ask", "find_request", "tell"]
