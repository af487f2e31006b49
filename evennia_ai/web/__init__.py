"""The workbench: pages of the game's web site where staff watch, test and stop assistants.

A page is a row (`rows.Page`), a function that gets its contents from operations in the game's
thread, and a template. Buttons and downloads are rows too (`rows.Action`, `rows.Download`).
"""
