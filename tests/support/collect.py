"""Helpers for the tests that collect submissions: folders, zips, and answers to two challenges."""

import io
import json
import os
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

from attn_drill.classroom.collect import Collected
from attn_drill.packs import pack_reader

PACK = pack_reader.built_in_pack()
ONE = (pack_reader.find_challenge(PACK, "gqa"),)
TWO = (*ONE, pack_reader.find_challenge(PACK, "kv-cache"))
GQA = "class GroupedQueryAttention:\n    pass\n"
CACHE = "class CachedMultiHeadAttention:\n    pass\n"
Files = Mapping[str, bytes | str]


def write_files(root: Path, files: Files) -> Path:
    """Write a folder with these files."""
    root.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = Path(os.fsdecode(os.path.join(os.fsencode(root), os.fsencode(name))))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def write_zip(path: Path, files: Files) -> Path:
    """Write a zip with these members."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 11, 20, 10, 11, 12)), content)
    return path


def named_files(*names: str, source: str = GQA) -> dict[str, str]:
    """Return answers that hold their own name, so that a test sees which file was read."""
    return {name: f"# {name}\n{source}" for name in names}


def notebook(*cells: str) -> str:
    """Return a notebook of format 4 with code cells."""
    return json.dumps(
        {
            "cells": [
                {"cell_type": "code", "source": cell.splitlines(keepends=True), "outputs": [{}]}
                for cell in cells
            ],
            "metadata": {},
            "nbformat": 4,
        }
    )


def outcomes(collected: Collected) -> dict[str, str]:
    """Return the path of the file, "missing", or the reason why nothing is graded.

    The key is the student, with the challenge after a colon if there are several.
    """
    several = len({each.challenge for each in collected.submissions}) > 1
    return {
        f"{each.student}: {each.challenge}" if several else each.student: (
            each.file
            if each.source is not None
            else "missing"
            if each.is_missing
            else f"~{each.trouble}"
        )
        for each in collected.submissions
    }


def zipped(files: Files) -> bytes:
    """Return the bytes of a zip."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def written(folder: Path, form: str, files: Files) -> Path:
    """Write a folder or a zip."""
    if form == "folder":
        return write_files(folder / "in", files)
    return write_zip(folder / "in.zip", files)


def check(collected: dict[str, str], expected: dict[str, str]) -> None:
    """Compare outcomes with paths and patterns."""
    for student, text in expected.items():
        if text.startswith("~"):
            assert re.search(text[1:], collected[student].removeprefix("~")), collected
            assert collected[student].startswith("~")
        else:
            assert collected[student] == text, collected
