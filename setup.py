"""Builds start empty: setuptools would pack modules that a folder of an earlier build still has."""

import shutil

from setuptools import setup

shutil.rmtree("build/lib", ignore_errors=True)
setup()
