"""Find the installed packages that contain a pack.

They register an entry point of the group `attn_drill.packs`.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path

import msgspec

from trainer.model.errors import DrillError
from trainer.packs.entry_points import entry_points_of, packages_with_packs
from trainer.packs.pack_reader import is_pack


class InstalledPack(msgspec.Struct, frozen=True):
    """A pack of an installed package.

    Attributes:
        name: the name of the entry point.
        root: the folder with challenges/ and solutions/.
        copies: other folders with the same content. An editable install may leave a copy among
            the installed packages.
    """

    name: str
    root: Path
    copies: tuple[Path, ...] = ()


def installed_packs(path: Sequence[str]) -> tuple[list[InstalledPack], list[str]]:
    """Return the packs of all packages in these folders, and a sentence for each broken pack.

    An entry point has one of two forms:

    - `name = package`: the package's folder contains challenges/ and solutions/. In an editable
      install they may also be next to the package's folder. The package is not imported.
    - `name = module:attribute`: the attribute is the folder of the pack, as text or as a path. The
      module is imported.

    Args:
        path: the folders that hold packages, for example those of `sys.path`.
    """
    found: list[InstalledPack] = []
    troubles: list[str] = []
    for package, text in packages_with_packs(path):
        for name, value in entry_points_of(text):
            try:
                found.append(InstalledPack(name, *_locate(value, path)))
            except (Exception, SystemExit) as error:  # the imported module may raise anything
                why = (
                    str(error)
                    if isinstance(error, DrillError)
                    else f"{type(error).__name__}: {error}"
                )
                troubles.append(
                    f"The pack {name} of the installed package {package} is left out: "
                    f"{why.rstrip('.')}. Install {package} again, or remove it."
                )
    return found, troubles


def _locate(value: str, path: Sequence[str]) -> tuple[Path, tuple[Path, ...]]:
    """Return the folder of the pack that an entry point names, and the copies of the folder.

    Raises:
        DrillError: if there is no such folder. An imported module may raise any exception.
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
    """Return the folder that a module's attribute names; relative paths start at the module."""
    with redirect_stdout(sys.stderr):  # the command may write JSON to stdout
        imported = importlib.import_module(module)
    value: object = imported
    for part in attribute.split("."):
        value = getattr(value, part)
    if not isinstance(value, str | os.PathLike):
        raise DrillError(f"{module}:{attribute} is {value!r:.60}, which is not a folder")
    return Path(imported.__file__ or ".").parent / os.fspath(value)


def _package_folders(package: str) -> list[Path]:
    """Return the folders of a package without importing the package or its parents."""
    first, *rest = package.split(".")
    spec = find_spec(first) if first else None
    if spec is None:
        raise DrillError(f"there is no package {package!r}")
    folders = [Path(place, *rest) for place in spec.submodule_search_locations or ()]
    if not any(folder.is_dir() for folder in folders):
        raise DrillError(f"{package} is not a package with its own folder")
    return folders
