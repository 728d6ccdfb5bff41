"""Write a new pack: a project that can be installed, with one working challenge.

The files are in `template/`. The suffix `.template` keeps tools from treating them as code of this
project.
"""

from __future__ import annotations

import keyword
import os
import re
import shutil
import sys
from pathlib import Path

from attn_drill.model.errors import DrillError

TEMPLATE = Path(__file__).resolve().parent / "template"
CHALLENGE = "attention-pooling"  # the id of the challenge in the template
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*([-_][A-Za-z0-9]+)*")
_MOST_LETTERS = 64
# Modules that an installed pack of the same name would hide.
_TAKEN = {*keyword.kwlist, *sys.stdlib_module_names, "attn_drill", "torch", "numpy"}


def scaffold(name: str, parent: Path) -> Path:
    """Write a new pack as the folder `parent/name`, and return this folder."""
    module = module_name(name)
    folder = parent / name
    if os.path.lexists(folder):
        raise DrillError(
            f"{folder} already exists and was not changed. "
            "Choose another name, or another folder with --dir."
        )
    words = {"{{name}}": name, "{{module}}": module, "{{id}}": CHALLENGE}
    try:
        for source in TEMPLATE.rglob("*.template"):
            text = source.read_text(encoding="utf-8")
            for word, value in words.items():
                text = text.replace(word, value)
            place = source.relative_to(TEMPLATE).with_suffix("").as_posix()
            target = folder / place.replace("MODULE", module)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise DrillError(
            f"{folder} cannot be written: {error.strerror or error}. "
            "Choose another folder with --dir."
        ) from None
    return folder


def module_name(name: str) -> str:
    """Return the name of the Python package for a pack, or raise DrillError if there is none.

    >>> module_name("course-2026-Attention")
    'course_2026_attention'
    """
    if not _NAME.fullmatch(name) or len(name) > _MOST_LETTERS:
        raise DrillError(
            f"{name!r:.80} cannot be the name of a pack. Use up to {_MOST_LETTERS} letters a-z and "
            "digits with single hyphens between them, and begin with a letter, e.g. my-pack."
        )
    module = name.replace("-", "_").lower()
    if module in _TAKEN:
        raise DrillError(
            f"{name!r} cannot be the name of a pack, because Python or attn-drill uses the name "
            f"{module}. Choose another name, e.g. my-{name}."
        )
    return module
