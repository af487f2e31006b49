"""The Lantern Library: a small demo game, written to be copied.

`library.py` has the world as plain entries, `blueprint.py` the dataclasses of these entries, and
`build.py` puts them into the database. The other modules have typeclasses, command sets, help and
the connection screen. To add a room, add one `Place` to `library.PLACES`.
"""
