"""What a run of pytest with `--drill` does differently.

The files that are graded are collected as ours, wherever pytest comes upon them, and are never imported. Under xdist the controller has
everything graded before it starts its workers and hands the reports over: so all of them have the same tests and tell of the same grading.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from trainer.core.report import Outcome
from trainer.pytest_drill.due import Became, Due
from trainer.pytest_drill.grading import Asking, Submission, handed_over, submissions, taken_over
from trainer.pytest_drill.items import DrillFile, DrillItem
from trainer.pytest_drill.options import again, read_options
from trainer.pytest_drill.telling import Told

_KEY = "attn_drill"
_FIRST_PYTEST = (8,)


def take_part(config: pytest.Config) -> None:
    """Register what this run needs.

    Raises:
        pytest.UsageError: where it cannot be graded.
    """
    if pytest.version_tuple[:1] < _FIRST_PYTEST:
        raise pytest.UsageError(
            f"--drill needs pytest {_FIRST_PYTEST[0]} or newer; this is {pytest.__version__}. Install a newer one."
        )
    if hasattr(config, "workerinput"):
        run = DrillRun(config, taken_over(config.workerinput[_KEY]))
    else:
        options = read_options(config)
        asking = Asking(options.packs)
        config.add_cleanup(asking.close)
        run = DrillRun(config, submissions(options, asking), asking, options.seed)
    config.pluginmanager.register(run, "attn-drill-run")


class DrillRun:
    """The hooks of a run, and what its tests share. A worker asks nothing and shows nothing: it needs neither station nor seed.

    It has no properties: pytest 8.0 reads all attributes of a plugin.
    """

    def __init__(
        self,
        config: pytest.Config,
        known: tuple[Submission, ...],
        asking: Asking | None = None,
        seed: int | None = None,
    ) -> None:
        self._config, self._known, self._asking, self._seed = config, known, asking, seed
        self._files = {
            one.path: [other for other in known if other.path == one.path] for one in known
        }
        self.collected: set[Path] = set()  # the files of which the tests were asked for
        self._whole_told: set[Submission] = set()
        self._became: dict[Submission, dict[Due, Became]] = {}
        if (
            config.args_source is pytest.Config.ArgsSource.INVOCATION_DIR
        ):  # neither paths nor `testpaths`: nothing else is meant
            config.args = [str(path) for path in self._files if not set("[:") & set(str(path))]

    def pytest_report_header(self) -> str:
        """What is graded, and the seed."""
        return f"drill: {', '.join(dict.fromkeys(one.challenge for one in self._known))}, seed {self._seed}"

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(
        self, file_path: Path, parent: pytest.Collector
    ) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
        """Nobody else collects our files: that would import them."""
        others = yield
        return [self._file(parent, file_path)] if file_path in self._files else others

    def _file(self, parent: pytest.Collector, path: Path) -> DrillFile:
        node: DrillFile = DrillFile.from_parent(parent, path=path)
        node.run, node.submissions = self, self._files[path]
        return node

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        """Add the files that lie nowhere where pytest looked."""
        for path in self._files:
            if path not in self.collected:
                items.extend(session.genitems(self._file(session, path)))

    def what_became(self, session: pytest.Session, submission: Submission) -> dict[Due, Became]:
        """What became of a file's tests."""
        if submission not in self._became:
            chosen = {
                item.due
                for item in session.items
                if isinstance(item, DrillItem) and item.submission is submission
            }
            self._became[submission] = submission.what_became(chosen)
        return self._became[submission]

    def told(
        self, submission: Submission, inside: tuple[str, ...], outcomes: tuple[Outcome, ...]
    ) -> Told:
        """What is shown of a failed test; the whole report is shown with the first."""
        whole = submission not in self._whole_told
        self._whole_told.add(submission)
        challenges = [one.challenge for one in self._files[submission.path]]
        command = again(
            self._config, submission.given, challenges, submission.report.seed or 0, inside
        )
        terse = self._config.getoption("tbstyle", None) == "line"
        return Told(
            submission.given,
            outcomes,
            submission.report,
            whole,
            terse,
            inside,
            command,
            self._known.index(submission),
        )

    @pytest.hookimpl(wrapper=True)
    def pytest_report_to_serializable(
        self, report: pytest.CollectReport | pytest.TestReport
    ) -> Generator[None, Any, Any]:
        """What a worker sends: what failed, and not a text, since only the controller knows the terminal and which test is the first to fail."""
        data = yield
        told = report.longrepr
        if isinstance(told, Told):
            data[_KEY] = [told.number, list(told.inside), msgspec.to_builtins(told.outcomes)]
        return data

    @pytest.hookimpl(wrapper=True)
    def pytest_report_from_serializable(self, data: dict[str, Any]) -> Generator[None, Any, Any]:
        """What a worker sent."""
        sent = data.pop(_KEY, None)
        report = yield
        if sent is not None:
            number, inside, outcomes = sent
            report.longrepr = self.told(
                self._known[number], tuple(inside), msgspec.convert(outcomes, tuple[Outcome, ...])
            )
        return report

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Give a worker of xdist what it needs to know."""
        assert self._asking is not None
        node.workerinput[_KEY] = handed_over(self._known)
        self._asking.close()  # all is known now

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A fault of the grader is no failed test: the run ends as one that broke."""
        if self._asking is not None and self._asking.failed:
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
