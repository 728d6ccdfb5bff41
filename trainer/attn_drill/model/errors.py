"""Errors whose text is a sentence for the user, and the exit codes of the commands.

DrillError            2  an error of use: the user can mend it
    PackError         2  an error in the content of a pack
GraderError           3  the grader itself failed, so there is no verdict
    ForkServerLostError  (worker.forkserver_client) a new fork server can do the work again
"""

from __future__ import annotations


class DrillError(Exception):
    """An error of use. Its text states the problem, both values and the next step."""

    exit_code = 2


class PackError(DrillError):
    """An error in a pack's content. Its text names the file and the key."""


class GraderError(Exception):
    """A failure of the grader itself, so that a submission gets no verdict."""

    exit_code = 3
