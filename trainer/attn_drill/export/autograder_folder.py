"""Write the folder of a Gradescope autograder for one assignment.

The folder holds this version of attn-drill, and the challenges of the course's own packs that the
assignment asks for.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from attn_drill.export.autograder_files import README, RUN_AUTOGRADER, SETUP
from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import DrillError
from attn_drill.packs.pack_reader import PACKAGE, built_in_pack

_OURS = ("run_autograder", "setup.sh", "assignment.toml")
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", ".*")


def write_autograder(folder: Path, assignment_toml: str, others: Sequence[Challenge] = ()) -> None:
    """Write all files that the platform needs into a new folder, or over an earlier autograder.

    The challenges from other packs become the pack of the autograder. Raise DrillError if the
    folder holds other files or cannot be written, or if attn-drill is not installed.
    """
    requirements = _requirements()
    _clear(folder)
    pack = built_in_pack()
    copies = {PACKAGE: "package/attn_drill"}
    if PACKAGE not in pack.parents:  # the pack of a wheel is inside the package
        for part in ("challenges", "solutions"):
            copies[pack / part] = f"package/attn_drill/_pack/{part}"
    for other in others:
        copies[other.folder] = f"pack/challenges/{other.folder.name}"
        copies[other.solutions] = f"pack/solutions/{other.folder.name}"
    try:
        for source, target in copies.items():
            shutil.copytree(source, folder / target, ignore=_LEFT_OUT)
        for name, text in {
            "assignment.toml": assignment_toml,
            "README.md": README,
            "requirements.txt": requirements,
            "setup.sh": SETUP,
            "run_autograder": RUN_AUTOGRADER,
        }.items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
        for name in ("setup.sh", "run_autograder"):
            (folder / name).chmod(0o755)
    except OSError as error:
        raise DrillError(f"{folder} cannot be written: {error}. Name another folder.") from None


def _clear(folder: Path) -> None:
    """Remove the package and the pack of an earlier autograder. Refuse every other folder.

    Other files of an earlier autograder stay, for example a pip.conf.
    """
    if folder.is_dir() and any(folder.iterdir()):
        missing = [name for name in _OURS if not (folder / name).is_file()]
        if missing:
            raise DrillError(
                f"{folder} is not empty and is not an autograder (it has no {missing[0]}). Name a"
                " new folder."
            )
        for name in ("package", "pack"):
            shutil.rmtree(folder / name, ignore_errors=True)


def _requirements() -> str:
    """Return the installed versions of the packages that attn-drill needs."""
    try:
        needed = [line for line in metadata.requires("attn-drill") or () if "extra ==" not in line]
        names = [re.split(r"[^\w.-]", line)[0] for line in needed]
        # The part after a plus names a build, which another index may not have.
        return "".join(f"{name}=={metadata.version(name).partition('+')[0]}\n" for name in names)
    except metadata.PackageNotFoundError as error:
        raise DrillError(
            f"The package {error.name} is not installed, so its version for the autograder is not"
            " known. Install attn-drill as its README says, then try again."
        ) from None
