"""Take part in a run of pytest with `--drill`.

The files are graded at collection, and the items report the results. The files named by `--drill`
are collected by this plugin only, so that pytest never imports them. Under xdist, the controller
grades the files before it starts its workers, and sends them the reports.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from trainer.pytest_plugin.failure import FailedTest, in_one_line
from trainer.pytest_plugin.grade_files import (
    GradedFile,
    Options,
    grade,
    read_options,
    repeating_command,
)
from trainer.pytest_plugin.items import DrillFile, DrillItem
from trainer.pytest_plugin.test_results import is_hidden_failure, settle_results
from trainer.report.visible import visible
from trainer.server.messages import rows_of

_KEY = "attn_drill"
_LEAST_PYTEST = 8
_Graded = tuple[GradedFile, ...]


def take_part(config: pytest.Config) -> None:
    """Register the hooks of this run.

    Raises:
        pytest.UsageError: an option is wrong, or pytest is too old.
    """
    if int(pytest.version_tuple[0]) < _LEAST_PYTEST:
        raise pytest.UsageError(
            f"--drill needs pytest {_LEAST_PYTEST} or newer; this is {pytest.__version__}. "
            "Install a newer one."
        )
    if hasattr(config, "workerinput"):
        encoded = config.workerinput[_KEY]
        options, graded = msgspec.msgpack.decode(encoded, type=tuple[Options, _Graded])
        run = DrillRun(config, options, graded)
    else:
        run = DrillRun(config, read_options(config))
    config.pluginmanager.register(run, "attn-drill-run")


class DrillRun:
    """The hooks of a run.

    The class has no properties, because pytest 8.0 reads all attributes of a plugin.
    """

    def __init__(
        self, config: pytest.Config, options: Options, graded: _Graded | None = None
    ) -> None:
        self._config, self._options, self._graded = config, options, graded
        self._paths = dict.fromkeys(Path(drill.path) for drill in options.drills)
        self._collected: set[Path] = set()
        # The outcomes of the tests that ran, by challenge and path.
        self._outcomes: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        if config.args_source is pytest.Config.ArgsSource.INVOCATION_DIR:
            # The command line has no paths, and there is no setting `testpaths`. Then only the
            # files of `--drill` run. A path with `[` or `:` is left out, because pytest reads `[`
            # and `::` as parts of a node id; `pytest_collection_modifyitems` adds the file.
            config.args = [str(path) for path in self._paths if not set("[:") & set(str(path))]

    def graded(self) -> _Graded:
        """Return all files with their reports. The first call grades the files."""
        if self._graded is None:
            is_only_listed = self._config.getoption("collectonly")
            self._graded = grade(self._options, is_only_listed=is_only_listed)
        return self._graded

    def pytest_report_header(self) -> str:
        """Return a line with the challenges and the seed."""
        challenges = dict.fromkeys(drill.challenge for drill in self._options.drills)
        return f"drill: {', '.join(challenges)}, seed {self._options.seed}"

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(
        self, file_path: Path, parent: pytest.Collector
    ) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
        """Collect the files of `--drill`, so that no other plugin imports them."""
        collectors = yield
        return [self._file(parent, file_path)] if file_path in self._paths else collectors

    def _file(self, parent: pytest.Collector, path: Path) -> DrillFile:
        answers = [graded for graded in self.graded() if graded.drill.path == str(path)]
        file: DrillFile = DrillFile.from_parent(parent, path=path, answers=answers)
        return file

    def pytest_collectstart(self, collector: pytest.Collector) -> None:
        """Record that pytest found a file of `--drill` itself."""
        if isinstance(collector, DrillFile):
            self._collected.add(collector.path)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        """Add the files of `--drill` that pytest did not find itself."""
        for path in self._paths:
            if path not in self._collected:
                items.extend(session.genitems(self._file(session, path)))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Adapt the results to the tests that were chosen to run.

        Grade nothing here, because pytest also calls this hook after an interrupt.
        """
        drill_items = [item for item in session.items if isinstance(item, DrillItem)]
        for graded in self._graded or ():
            chosen = [item for item in drill_items if item.graded is graded]
            results = settle_results([item.result for item in chosen], graded.report)
            for item, result in zip(chosen, results, strict=True):
                item.result = result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add the file to the report of a test."""
        report = yield
        if isinstance(item, DrillItem):
            drill = item.graded.drill
            # pytest sends all attributes to the controller.
            report.attn_drill_file = [drill.challenge, drill.path]  # type: ignore[attr-defined]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the outcome of a test. Under xdist only the controller has all outcomes."""
        file = getattr(report, "attn_drill_file", None)
        if file is not None and report.when == "call":
            self._outcomes[file[0], file[1]].add(report.outcome)

    def _hidden_failures(self) -> Iterator[GradedFile]:
        """Yield the files that did not pass although no test failed and a test was skipped."""
        for graded in self._graded or ():
            outcomes = self._outcomes[graded.drill.challenge, graded.drill.path]
            if is_hidden_failure(outcomes, graded.report):
                yield graded

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say that a file did not pass if no test says so."""
        hidden = list(self._hidden_failures())
        if hidden:
            terminalreporter.section("drill: not passed", red=True)
        for graded in hidden:
            first, drill = graded.report.first_failure(), graded.drill
            cause = f"{first.check} failed: {first.message}" if first else graded.report.verdict
            command = repeating_command(self._config, drill, graded.report.seed, [])
            terminalreporter.line(
                f"{visible(drill.submission.name)} did not pass: {in_one_line(cause)}\n"
                "The skipped tests were not checked, and the test that failed was not chosen.\n"
                f"all tests  {command}"
            )

    @pytest.hookimpl(wrapper=True)
    def pytest_report_to_serializable(
        self, report: pytest.CollectReport | pytest.TestReport
    ) -> Generator[None, Any, Any]:
        """Send a failure to the controller, because only the controller knows the terminal."""
        data = yield
        if isinstance(report.longrepr, FailedTest):
            data[_KEY] = msgspec.msgpack.encode(report.longrepr, enc_hook=rows_of)
        return data

    @pytest.hookimpl(wrapper=True)
    def pytest_report_from_serializable(self, data: dict[str, Any]) -> Generator[None, Any, Any]:
        """Decode a failure that a worker sent."""
        failure = data.pop(_KEY, None)
        report = yield
        if failure is not None:
            report.longrepr = msgspec.msgpack.decode(failure, type=FailedTest)
        return report

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Send the reports to a worker of xdist."""
        options_and_reports = (self._options, self.graded())
        node.workerinput[_KEY] = msgspec.msgpack.encode(options_and_reports, enc_hook=rows_of)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Change the exit code if no test failed, but the grader failed or a file did not pass."""
        if hasattr(self._config, "workerinput"):
            return
        if any(graded.refusal for graded in self._graded or ()):
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
        elif session.exitstatus == pytest.ExitCode.OK and any(self._hidden_failures()):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
