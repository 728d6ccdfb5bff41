"""Write the folder of a Gradescope autograder for one assignment.

The folder holds this version of attn-drill, and the challenges of the course's own packs that the
assignment asks for.
"""

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

# An installed wheel has no pyproject.toml. This file builds the same package again.
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
    """Write all files that the platform needs into a folder. Replace an earlier autograder.

    Args:
        folder: missing, empty, or an earlier autograder. Its README.md explains how to zip it.
        assignment_toml: the text of the assignment's file.
        package_root: the folder that holds `trainer/`: a checkout, or the site-packages of an
            installed wheel.
        others: the challenges of the assignment from other packs. They become the pack of the
            autograder.

    Raises:
        DrillError: the folder holds other files or cannot be written, or `package_root` has no
            package.
    """
    _clear(folder)
    package = folder / "package"
    try:
        if (package_root / "pyproject.toml").is_file() and (package_root / "challenges").is_dir():
            _from_checkout(package_root, package)
        else:
            _from_wheel(package_root, package)
        for challenge in others:
            for part, source in (
                ("challenges", challenge.folder),
                ("solutions", challenge.solutions),
            ):
                target = folder / "pack" / part / challenge.folder.name
                shutil.copytree(source, target, ignore=_LEFT_OUT)
        (folder / "assignment.toml").write_text(assignment_toml, encoding="utf-8")
        (folder / "README.md").write_text(README, encoding="utf-8")
        for name, script in (("setup.sh", SETUP), ("run_autograder", RUN_AUTOGRADER)):
            (folder / name).write_text(script, encoding="utf-8", newline="\n")
            (folder / name).chmod(0o755)
    except OSError as error:
        raise DrillError(f"{folder} cannot be written: {error}. Name another folder.") from None


def _clear(folder: Path) -> None:
    """Remove the package and the pack of an earlier autograder. Refuse every other folder.

    Other files of an earlier autograder stay, for example a pip.conf.
    """
    if folder.exists() and not folder.is_dir():
        raise DrillError(f"{folder} is a file. Name a folder for the autograder.")
    if folder.is_dir() and any(folder.iterdir()):
        missing = [name for name in _OURS if not (folder / name).is_file()]
        if missing:
            raise DrillError(
                f"{folder} is not empty and is not an autograder (it has no {missing[0]}). Name a"
                " new folder."
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
    """Copy the package of an installed wheel.

    In a wheel, the challenges are inside `trainer/`. Move them next to `trainer/` again, and make
    a pyproject.toml from the metadata of the wheel.
    """
    dist_infos = sorted(root.glob("attn_drill-*.dist-info"))
    pack = root / "trainer" / "_pack"
    if not dist_infos or not all((pack / name).is_dir() for name in ("challenges", "solutions")):
        raise DrillError(
            f"{root} has neither a checkout nor an installed wheel of attn-drill. Install"
            " attn-drill again, from a complete checkout or wheel."
        )
    installed = metadata.Distribution.at(dist_infos[-1])
    dependencies = [
        requirement for requirement in installed.requires or () if "extra ==" not in requirement
    ]
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
    for license_file in dist_infos[-1].glob("licenses/*"):
        shutil.copy(license_file, package / license_file.name)


def _pins(root: Path) -> str:
    """Return the versions of the installed packages, so that the platform grades with them."""
    installed = {
        distribution.name: distribution.version
        for distribution in metadata.distributions(path=[str(root)])
        if distribution.name and distribution.name.lower() != "attn-drill"
    }
    # The part after a plus names a build, which another index may not have.
    return "".join(
        f"{name}=={version.partition('+')[0]}\n"
        for name, version in sorted(installed.items(), key=lambda item: item[0].lower())
    )
