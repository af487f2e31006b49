"""What stands behind `make play`: from a bare checkout to a game that a player can log in to.

Everything here runs on the standard library alone, because it runs before anything is installed.
The one exception is `database`, which the others start inside the game's own environment.

`commands` is what a person asks for; `environment`, `brain` and `game` each bring one thing up and
down; `preflight`, `ports`, `pythons` and `credentials` answer questions; `processes` and `report`
touch the machine and the screen; `layout` says where everything lies.
"""
