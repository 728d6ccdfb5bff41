"""Find packs among the installed packages: those with an entry point of the group `attn_drill.packs`."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path

import msgspec

from trainer.model.entry_points import entry_points_of, packages_with_packs
from trainer.model.errors import DrillError
from trainer.packs.pack_reader import is_pack


class Installed(msgspec.Struct, frozen=True):
    """A pack of an installed package.

    name     of the entry point
    root     the folder with challenges/ and solutions/
    copies   folders with the same once more: a project that is installed as it stands may leave one among the packages
    """

    name: str
    root: Path
    copies: tuple[Path, ...] = ()


def installed_packs(path: Sequence[str]) -> tuple[list[Installed], list[str]]:
    """The packs of all packages that lie in these folders (those of `sys.path`), and a sentence for each that cannot be had.

    An entry point is `name = package`, and the package's folder holds challenges/ and solutions/, or lies beside them in a project that is
    installed as it stands; the package is not imported. Or it is `name = module:attribute`, and the attribute is the folder of the pack, as text
    or as a path; then the module is imported.
    """
    found: list[Installed] = []
    troubles: list[str] = []
    for package, text in packages_with_packs(path):
        for name, value in entry_points_of(text):
            try:
                found.append(Installed(name, *_located(value, path)))
            except (Exception, SystemExit) as error:  # of a module that is not ours
                why = (
                    str(error)
                    if isinstance(error, DrillError)
                    else f"{type(error).__name__}: {error}"
                )
                troubles.append(
                    f"The pack {name} of the installed package {package} is left out: {why.rstrip('.')}. Install {package} again, or remove it."
                )
    return found, troubles


def _located(value: str, path: Sequence[str]) -> tuple[Path, tuple[Path, ...]]:
    """The folder of the pack that an entry point names, and its copies.

    Raises:
        DrillError: where there is none; whatever the module raises, where one is imported.
    """
    module, colon, attribute = (part.strip() for part in value.partition(":"))
    folders = [_folder_in(module, attribute)] if colon else _package_folders(module)
    for folder in folders:
        if is_pack(folder):
            return folder.resolve(), ()
    for project in (folder.parent for folder in folders if not colon):
        if is_pack(project) and (project / "pyproject.toml").is_file():
            places = (Path(entry, *module.split(".")) for entry in path)
            return project.resolve(), tuple(place.resolve() for place in places if is_pack(place))
    raise DrillError(f"{folders[0]} has no challenges/ and solutions/")


def _folder_in(module: str, attribute: str) -> Path:
    """The folder that an attribute of a module names; a relative one is meant from where the module lies."""
    with redirect_stdout(sys.stderr):  # stdout may be somebody's JSON
        there = importlib.import_module(module)
    value: object = there
    for part in attribute.split("."):
        value = getattr(value, part)
    if not isinstance(value, str | os.PathLike):
        raise DrillError(f"{module}:{attribute} is {value!r:.60}, and no folder")
    return Path(there.__file__ or ".").parent / os.fspath(value)


def _package_folders(package: str) -> list[Path]:
    """Where a package lies, found without importing it or a package that it is in."""
    first, *rest = package.split(".")
    spec = find_spec(first) if first else None
    if spec is None:
        raise DrillError(f"there is no package {package!r}")
    folders = [Path(place, *rest) for place in spec.submodule_search_locations or ()]
    if not any(folder.is_dir() for folder in folders):
        raise DrillError(f"{package} is no package with a folder of its own")
    return folders
