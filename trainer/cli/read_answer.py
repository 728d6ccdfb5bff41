"""Read the learner's answer from a Python file or a notebook."""

from __future__ import annotations

from pathlib import Path

from trainer.app.find_file import NOTEBOOK
from trainer.model.challenge import Challenge
from trainer.practice.learner_files import read_source


def read_answer(challenge: Challenge, path: Path) -> str:
    """Return the text of an answer. Of a notebook, return the answer's part of its code.

    Raises:
        DrillError: if the file cannot be read, or if a notebook does not hold the answer.
    """
    if path.suffix != NOTEBOOK:
        return read_source(path)
    from trainer.practice.notebook_file import MOST_NOTEBOOK_BYTES, python_of

    text = read_source(path, most_bytes=MOST_NOTEBOOK_BYTES)
    return python_of(text, str(path), challenge.entry)
