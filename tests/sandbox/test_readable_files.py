"""The readable paths of a worker contain the installed packages, and none of the hidden paths."""

import os
from pathlib import Path

import pytest
import torch

from attn_drill.sandbox import confine
from tests.support.isolation import HIDDEN
from tests.support.paths import TINY_PACK


def allows(allowed: list[str], path: Path) -> bool:
    """Return True if a path, or one of its parents, is in the list of readable paths."""
    return not {str(path), *map(str, path.parents)}.isdisjoint(allowed)


def hidden_package(site: Path) -> Path:
    """Write a package with a pack into the package folder and return the pack's hidden folder."""
    hidden = site / "course" / "pack" / "solutions"
    hidden.mkdir(parents=True)
    (hidden / "solution.py").touch()
    (site / "course" / "__init__.py").touch()
    (site / "course" / "pack" / "pack.toml").touch()
    return hidden


def test_a_hidden_folder_is_not_readable_but_its_neighbours_are(site: Path) -> None:
    """A tree that contains a hidden folder is split into its entries, level by level."""
    hidden = hidden_package(site)
    allowed = confine.readable_paths([hidden])
    assert not allows(allowed, hidden / "solution.py")
    assert not allows(allowed, hidden)
    for path in ("course/__init__.py", "course/pack/pack.toml", "neighbour/module.py"):
        assert allows(allowed, site / path)


def test_without_hidden_paths_a_package_folder_is_one_entry(site: Path) -> None:
    """Each entry is a rule of Landlock, so there are no more than needed."""
    hidden_package(site)
    allowed = confine.readable_paths([])
    assert str(site) in allowed
    assert not [path for path in allowed if path.startswith(f"{site}/")]


def test_the_engine_and_its_packs_are_not_readable() -> None:
    """This holds for a checkout and for an installed package."""
    allowed = confine.readable_paths(HIDDEN)
    assert not [path for path in HIDDEN if allows(allowed, path.resolve())]


def test_the_standard_library_and_installed_packages_are_readable() -> None:
    """This holds whatever folders are hidden."""
    allowed = confine.readable_paths(HIDDEN)
    for module in (os, pytest, torch):
        assert allows(allowed, Path(module.__file__).resolve())


def test_links_to_readable_neighbours_are_readable(site: Path) -> None:
    """bubblewrap shows only listed paths, so the link to a library must be in the list."""
    hidden = hidden_package(site)
    (site / "libx.so.1").touch()
    (site / "libx.so").symlink_to("libx.so.1")
    (site / "far").symlink_to(TINY_PACK)
    (site / "into").symlink_to(hidden)
    allowed = confine.readable_paths([hidden])
    assert str(site / "libx.so") in allowed
    assert not {str(site / "far"), str(site / "into")} & set(allowed)
