"""A learner's submission."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Submission:
    """A learner's file.

    Attributes:
        name: the file name that a report shows.
        source: the text of the file.
    """

    name: str
    source: str
