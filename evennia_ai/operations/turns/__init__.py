"""Turns of an assistant: as they happen, as recorded, their traces, and why it spoke or not."""
