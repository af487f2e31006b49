"""Tests of the workbench: its pages for people of every right, without a server."""
