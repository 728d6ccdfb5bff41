"""The errors that carry a sentence for the user."""

from __future__ import annotations


class DrillError(Exception):
    """A sentence for the user: what is wrong, with both values, and what to do next. Exit code 2."""


class PackError(DrillError):
    """A pack's content is broken; the sentence names the file and the key."""


class GraderError(Exception):
    """The grader itself failed: no verdict on the submission can be given. Exit code 3."""
