"""What `import tammes` offers, though it imports nothing by itself."""

import importlib.metadata
import pkgutil
import subprocess
import sys

import pytest

import tammes

PRIVATE = {"cli", "papers", "recipes", "contrast", "coupling", "perturbation", "sources"}
"""Packages that are no door of their own: commands, experiments, and parts whose names are at the top."""


def test_every_package_is_reached_without_an_import_of_its_own() -> None:
    packages = {each.name for each in pkgutil.iter_modules(tammes.__path__) if each.ispkg} - PRIVATE
    script = f"import tammes\nfor name in {sorted(packages)}: assert getattr(tammes, name).__all__, name"
    subprocess.run([sys.executable, "-c", script], check=True)
    assert packages <= set(dir(tammes))


def test_a_star_brings_the_public_names() -> None:
    names: dict[str, object] = {}
    exec("from tammes import *", names)
    assert set(tammes.__all__) <= set(names)
    assert {"Objective", "recipes", "load", "Embedder", "diagnose", "Diagnosis"} <= set(names)


def test_the_version_is_that_of_the_package() -> None:
    assert tammes.__version__ == importlib.metadata.version("tammes")


@pytest.mark.parametrize("name", ["nothing", "__nothing__"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(AttributeError, match=f"module 'tammes' has no attribute '{name}'"):
        getattr(tammes, name)
