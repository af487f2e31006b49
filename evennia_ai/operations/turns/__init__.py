"""Turns of an assistant: live, recorded, traced, and explained."""
