"""The pages of the workbench, with a module for each, or for a few that belong together."""
