"""The launcher behind `make play`: from a bare checkout to a game that a player can log in to.

Everything here uses only the standard library, because it runs before anything is installed. The
exceptions are `database` and `template`, which run inside the game's own environment.

`commands` has one function for each make target. `environment`, `brain` and `game` each start and
stop one thing, and `opening` waits until players can log in. `preflight`, `ports`, `prepared`,
`pythons` and `credentials` check and choose. `processes`, `background`, `portal` and `report` deal
with the operating system, the game and the screen. `layout` has all paths.
"""
