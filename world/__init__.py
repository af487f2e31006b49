"""The Lantern Library: a small demo game, written to be copied.

`library.py` holds the world as plain entries, `blueprint.py` the shapes of those entries, and
`build.py` puts them into the database. The other rooms hold what the entries stand on: typeclasses,
command sets, help and the connection screen. To add a room, add one `Place` to `library.PLACES`.
"""
