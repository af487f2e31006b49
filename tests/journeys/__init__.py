"""Journeys: tests of a real, running Evennia server as people see it, from login to quit."""
