"""A learner's submission."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Submission:
    """A learner's file: its name as a report shows it, and its text."""

    name: str
    source: str
