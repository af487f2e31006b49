"""Messages between the game and an assistant: read as they come in, and shaped as they go out."""
