"""A learner's submission."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Submission:
    """A learner's file."""

    name: str  # the file name that a report shows
    source: str
