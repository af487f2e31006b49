"""Journeys: what a person sees of a real, running Evennia server, from login to the last word."""
