"""The workbench: pages of the game's web site where staff see, try and stop assistants.

A page is a row of one table (`rows.Page`), a function that gets what it shows from operations in
the game's thread, and a template. What a button does is a row as well (`rows.Action`).
"""
