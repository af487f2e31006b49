"""Tests in a real browser: the webclient and the workbench."""
