"""The tests of evennia-ai: one folder for each part of the tree, and shared fakes."""
