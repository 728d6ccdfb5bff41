"""The nodes of pytest's tree: files, checks and cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from trainer.pytest_plugin.failure import FailedTest, in_one_line
from trainer.pytest_plugin.grade_files import GradedFile, repeating_command
from trainer.pytest_plugin.test_results import TestResult, as_name, results


class NotRightError(Exception):
    """Raised by an item whose test failed."""


class DrillFile(pytest.File):
    """A graded file.

    Args:
        answers: the reports on the file, one for each challenge that the file answers.
        arguments: passed to `pytest.File`.
    """

    def __init__(self, answers: Sequence[GradedFile], **arguments: Any) -> None:
        super().__init__(**arguments)
        self._answers = answers

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """Yield the checks.

        Put the checks below the name of the file or of the challenge if their ids would not be
        unique otherwise.
        """
        for graded in self._answers:
            if not graded.reference.outcomes:
                raise self.CollectError(graded.refusal)
            words = []
            if not self.path.is_relative_to(self.config.rootpath):
                # All files outside pytest's rootdir have the same id.
                words.append(graded.drill.submission.name)
            if len(self._answers) > 1:
                words.append(graded.drill.challenge)
            found = results(graded.reference, graded.report)
            if not words:
                yield from _nodes(self, graded, found, 0)
            else:
                name = as_name(" ".join(words))
                yield DrillGroup.from_parent(self, name=name, graded=graded, found=found, depth=0)


class DrillGroup(pytest.Collector):
    """A check with several cases, or all checks of a file that needs a separate name.

    Args:
        graded: the file with its reports.
        found: the results of the tests in this group.
        depth: the number of names of a test above the nodes of this group.
        arguments: passed to `pytest.Collector`.
    """

    def __init__(
        self, graded: GradedFile, found: Sequence[TestResult], depth: int, **arguments: Any
    ) -> None:
        super().__init__(**arguments)
        self._graded, self._found, self._depth = graded, found, depth

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """Yield the nodes of this group."""
        return _nodes(self, self._graded, self._found, self._depth)


def _nodes(
    parent: pytest.Collector, graded: GradedFile, found: Sequence[TestResult], depth: int
) -> Iterator[pytest.Item | pytest.Collector]:
    """Yield a node for each name at this depth."""
    for name, group in groupby(found, key=lambda result: result.test.names[depth]):
        group_results = list(group)
        if len(group_results[0].test.names) == depth + 1:
            yield DrillItem.from_parent(parent, name=name, graded=graded, result=group_results[0])
        else:
            yield DrillGroup.from_parent(
                parent, name=name, graded=graded, found=group_results, depth=depth + 1
            )


class DrillItem(pytest.Item):
    """A check on one case or on the whole file. Its result is already known."""

    def __init__(self, graded: GradedFile, result: TestResult, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.graded, self.result = graded, result
        self.extra_keyword_matches.add(graded.drill.challenge)  # for `-k gqa`

    def setup(self) -> None:
        """Raise an error if there is no report. The test then counts as an error, not a failure."""
        if self.graded.refusal:
            pytest.fail(self.graded.refusal, pytrace=False)

    def runtest(self) -> None:
        """Raise an exception if the test failed or was skipped."""
        if self.result.status == "failed":
            raise NotRightError
        if self.result.status == "skipped":
            # Report the location of the item instead of this line.
            reason = in_one_line(self.result.outcomes[0].message)
            raise pytest.skip.Exception(reason, _use_item_location=True)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the text of the report instead of a traceback."""
        if not isinstance(excinfo.value, NotRightError):
            return super().repr_failure(excinfo, style)
        report, result = self.graded.report, self.result
        names = self._names_below_the_file()
        command = repeating_command(self.config, self.graded.drill, report.seed, names)
        # The option does not exist with `-p no:terminal`.
        is_one_line = self.config.getoption("tbstyle", None) == "line"
        return FailedTest(result.outcomes, report, result.shows_report, is_one_line, command)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the file, its first line and a heading."""
        return self.path, 0, ": ".join(self._names_below_the_file())

    def _names_below_the_file(self) -> list[str]:
        nodes = self.listchain()
        return [node.name for node in nodes if isinstance(node, DrillGroup | DrillItem)]
