"""Errors whose text is a sentence for the user."""

from __future__ import annotations


class DrillError(Exception):
    """An error of use. Its text states the problem, both values and the next step. Exit code 2."""


class PackError(DrillError):
    """An error in a pack's content. Its text names the file and the key."""


class GraderError(Exception):
    """A failure of the grader itself, so that a submission gets no verdict. Exit code 3."""
