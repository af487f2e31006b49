"""Agents elsewhere: tasks that they give by A2A, and specialists that are given some."""
