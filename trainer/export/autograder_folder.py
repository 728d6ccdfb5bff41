"""A ready folder for Gradescope: what grades one assignment, with this very version of attn-drill and what of a course's own packs is asked."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from trainer.export.autograder_files import README, RUN_AUTOGRADER, SETUP
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError

_OURS = ("run_autograder", "setup.sh", "assignment.toml")
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", ".*")

# For an installed wheel, which has no pyproject.toml: the same package again.
_PYPROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "attn-drill"
version = {version}
requires-python = ">=3.11"
dependencies = {dependencies}

[project.scripts]
attn-drill = "trainer.cli.entry:main"

[tool.hatch.build.targets.wheel]
packages = ["trainer"]

[tool.hatch.build.targets.wheel.force-include]
"challenges" = "trainer/_pack/challenges"
"solutions" = "trainer/_pack/solutions"
"""


def write_autograder(
    folder: Path, assignment_toml: str, package_root: Path, others: Sequence[Challenge] = ()
) -> None:
    """Write all that the platform needs into `folder`: empty, missing, or an autograder written earlier, which is replaced.

    Args:
        folder: what is to be zipped; see the README.md in it.
        assignment_toml: the text of the assignment's file.
        package_root: what holds `trainer/`: a checkout, or the site-packages of an installed wheel.
        others: what is asked of other packs; these challenges become the autograder's own pack.

    Raises:
        DrillError: where the folder has something else in it, or `package_root` has no package.
    """
    _clear(folder)
    package = folder / "package"
    try:
        if (package_root / "pyproject.toml").is_file() and (package_root / "challenges").is_dir():
            _from_checkout(package_root, package)
        else:
            _from_wheel(package_root, package)
        for one in others:
            for part, place in (("challenges", one.folder), ("solutions", one.solutions)):
                shutil.copytree(place, folder / "pack" / part / one.folder.name, ignore=_LEFT_OUT)
        (folder / "assignment.toml").write_text(assignment_toml, encoding="utf-8")
        (folder / "README.md").write_text(README, encoding="utf-8")
        for name, script in (("setup.sh", SETUP), ("run_autograder", RUN_AUTOGRADER)):
            (folder / name).write_text(script, encoding="utf-8", newline="\n")
            (folder / name).chmod(0o755)
    except OSError as error:
        raise DrillError(f"{folder} cannot be written: {error}. Name another folder.") from None


def _clear(folder: Path) -> None:
    """Nothing but an earlier autograder is ever removed, and of that the package and the pack alone: a pip.conf put beside them stays."""
    if folder.exists() and not folder.is_dir():
        raise DrillError(f"{folder} is a file. Name a folder for the autograder.")
    if folder.is_dir() and any(folder.iterdir()):
        missing = [name for name in _OURS if not (folder / name).is_file()]
        if missing:
            raise DrillError(
                f"{folder} is not empty and no autograder (it has no {missing[0]}). Name a new folder."
            )
        for name in ("package", "pack"):
            shutil.rmtree(folder / name, ignore_errors=True)


def _from_checkout(root: Path, package: Path) -> None:
    for name in ("trainer", "challenges", "solutions"):
        shutil.copytree(root / name, package / name, ignore=_LEFT_OUT)
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "constraints.txt"):
        if (root / name).is_file():
            shutil.copy(root / name, package / name)
    (package / "constraints.txt").touch()


def _from_wheel(root: Path, package: Path) -> None:
    """The challenges lie inside `trainer/` here; they are put back beside it, and pyproject.toml is made from the wheel's own data."""
    found = sorted(root.glob("attn_drill-*.dist-info"))
    pack = root / "trainer" / "_pack"
    if not found or not all((pack / name).is_dir() for name in ("challenges", "solutions")):
        raise DrillError(
            f"{root} has neither a checkout of attn-drill nor an installed one. Install attn-drill again, from a whole checkout or wheel."
        )
    installed = metadata.Distribution.at(found[-1])
    dependencies = [one for one in installed.requires or () if "extra ==" not in one]
    shutil.copytree(
        root / "trainer",
        package / "trainer",
        ignore=shutil.ignore_patterns("__pycache__", "*.pyc", ".*", "_pack"),
    )
    for name in ("challenges", "solutions"):
        shutil.copytree(pack / name, package / name, ignore=_LEFT_OUT)
    text = _PYPROJECT.format(
        version=json.dumps(installed.version), dependencies=json.dumps(dependencies)
    )
    (package / "pyproject.toml").write_text(text, encoding="utf-8")
    (package / "constraints.txt").write_text(_pins(root), encoding="utf-8")
    for license_file in found[-1].glob("licenses/*"):
        shutil.copy(license_file, package / license_file.name)


def _pins(root: Path) -> str:
    """What is installed beside the wheel, so that the platform grades with the same versions."""
    there = {
        one.name: one.version
        for one in metadata.distributions(path=[str(root)])
        if one.name and one.name.lower() != "attn-drill"
    }
    # The part after a plus names a build, which another index may not have.
    return "".join(
        f"{name}=={version.partition('+')[0]}\n"
        for name, version in sorted(there.items(), key=lambda one: one[0].lower())
    )
