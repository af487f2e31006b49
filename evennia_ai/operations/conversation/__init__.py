"""Conversation with an assistant: orders, questions and answers, what it hears, and its goals.

The functions that a game's own code may call are re-exported here.
"""

from evennia_ai.operations.conversation.talk import ask, find_request, tell

__all__ = ["ask", "find_request", "tell"]
