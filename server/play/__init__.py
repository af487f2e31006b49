"""What stands behind `make play`: from a bare checkout to a game that a player can log in to.

Everything here runs on the standard library alone, because it runs before anything is installed.
The exceptions are `database` and `template`, which run inside the game's own environment.

`commands` is what a person asks for; `environment`, `brain` and `game` each bring one thing up and
down, `opening` watches the game until players can come; `preflight`, `ports`, `prepared`, `pythons`
and `credentials` answer questions; `processes`, `beside`, `portal` and `report` touch the machine,
the game and the screen; `layout` says where everything lies.
"""
