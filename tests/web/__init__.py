"""The workbench: its pages for people of every right, without a server."""
