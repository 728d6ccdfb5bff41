"""The tests' tree: a file, its checks, their cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from trainer.core.report import Outcome
from trainer.pytest_drill.due import Due, as_name
from trainer.pytest_drill.grading import Submission

if TYPE_CHECKING:
    from trainer.pytest_drill.run import DrillRun


class NotRightError(Exception):
    """A test failed."""

    def __init__(self, outcomes: tuple[Outcome, ...]) -> None:
        super().__init__(outcomes[0].message)
        self.outcomes = outcomes


class DrillFile(pytest.File):
    """A file that is graded. It is never imported here."""

    run: DrillRun
    submissions: Sequence[Submission]

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """The checks; before them what tells them apart where a file's path alone does not."""
        self.run.collected.add(self.path)
        # pytest has one and the same id for all files that lie outside its rootdir.
        outside = not self.path.is_relative_to(self.config.rootpath)
        for submission in self.submissions:
            names = [submission.given] if outside else []
            names += [submission.challenge] if len(self.submissions) > 1 else []
            if not names:
                yield from _checks(self, self.run, submission)
                continue
            node: DrillLevel = DrillLevel.from_parent(self, name=as_name(" ".join(names)))
            node.run, node.submission = self.run, submission
            yield node


class DrillLevel(pytest.Collector):
    """A file's answer to one challenge, where the file's path does not say which."""

    run: DrillRun
    submission: Submission

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """The checks."""
        yield from _checks(self, self.run, self.submission)


class DrillCheck(pytest.Collector):
    """A check on several cases."""

    run: DrillRun
    submission: Submission
    due: Sequence[Due]

    def collect(self) -> Iterator[pytest.Item]:
        """The cases."""
        for due in self.due:
            yield _item(self, self.run, self.submission, due, due.name)


def _checks(
    parent: pytest.Collector, run: DrillRun, submission: Submission
) -> Iterator[pytest.Item | pytest.Collector]:
    if submission.no_tests:
        raise pytest.Collector.CollectError(submission.no_tests)
    for check in dict.fromkeys(one.check for one in submission.due):
        of_check = [one for one in submission.due if one.check == check]
        if not of_check[0].name:
            yield _item(parent, run, submission, of_check[0], check)
            continue
        node: DrillCheck = DrillCheck.from_parent(parent, name=check)
        node.run, node.submission, node.due = run, submission, of_check
        yield node


def _item(
    parent: pytest.Collector, run: DrillRun, submission: Submission, due: Due, name: str
) -> DrillItem:
    item: DrillItem = DrillItem.from_parent(parent, name=name)
    item.run, item.submission, item.due = run, submission, due
    item.extra_keyword_matches.add(submission.challenge)  # `-k gqa`, whatever the file is called
    return item


class DrillItem(pytest.Item):
    """One check on one case, or on the whole file."""

    run: DrillRun
    submission: Submission
    due: Due

    def setup(self) -> None:
        """Have the file graded, if it is the first test of this file; where that cannot be done, the test is in error and has not failed."""
        if trouble := self.submission.trouble:
            pytest.fail(trouble, pytrace=False)

    def runtest(self) -> None:
        """Look up what became of it."""
        became = self.run.what_became(self.session, self.submission)[self.due]
        if became.status == "skipped":
            raise pytest.skip.Exception(
                became.reason, _use_item_location=True
            )  # else a line of ours is named
        if became.status == "failed":
            raise NotRightError(became.outcomes)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What is shown: no traceback of ours."""
        if isinstance(excinfo.value, NotRightError):
            return self.run.told(self.submission, self.inside(), excinfo.value.outcomes)
        return super().repr_failure(excinfo, style)

    def inside(self) -> tuple[str, ...]:
        """The names of the tree from below the file on."""
        chain = self.listchain()
        file = next(place for place, node in enumerate(chain) if isinstance(node, DrillFile))
        return tuple(node.name for node in chain[file + 1 :])

    def reportinfo(self) -> tuple[Path, int, str]:
        """The file, and a heading."""
        return self.path, 0, ": ".join(self.inside())
