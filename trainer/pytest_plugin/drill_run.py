"""A run of pytest with `--drill`: files are graded at collection, and items report the results.

Our files are collected here wherever pytest finds them, and are never imported. Under xdist the
controller grades before it starts its workers, and hands the reports over to them.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from trainer.pytest_plugin.failure import FailedTest
from trainer.pytest_plugin.grade_files import GradedFile, Options, grade, read_options
from trainer.pytest_plugin.items import DrillFile, DrillItem
from trainer.pytest_plugin.test_results import settled
from trainer.server.messages import rows_of

_KEY = "attn_drill"
_LEAST_PYTEST = 8
_Graded = tuple[GradedFile, ...]


def take_part(config: pytest.Config) -> None:
    """Register the hooks of this run.

    Raises:
        pytest.UsageError: if an option is wrong, or pytest is too old.
    """
    if int(pytest.version_tuple[0]) < _LEAST_PYTEST:
        raise pytest.UsageError(
            f"--drill needs pytest {_LEAST_PYTEST} or newer; this is {pytest.__version__}. "
            "Install a newer one."
        )
    if hasattr(config, "workerinput"):
        handed_over = config.workerinput[_KEY]
        options, graded = msgspec.msgpack.decode(handed_over, type=tuple[Options, _Graded])
        run = DrillRun(config, options, graded)
    else:
        run = DrillRun(config, read_options(config))
    config.pluginmanager.register(run, "attn-drill-run")


class DrillRun:
    """The hooks of a run. It has no properties: pytest 8.0 reads all attributes of a plugin."""

    def __init__(
        self, config: pytest.Config, options: Options, graded: _Graded | None = None
    ) -> None:
        self._config, self._options, self._graded = config, options, graded
        self._paths = dict.fromkeys(Path(drill.path) for drill in options.drills)
        self._collected: set[Path] = set()
        if config.args_source is pytest.Config.ArgsSource.INVOCATION_DIR:
            # Neither paths nor `testpaths` are given: only our files are meant. pytest reads `[`
            # and `::` in a path as parts of an id.
            config.args = [str(path) for path in self._paths if not set("[:") & set(str(path))]

    def graded(self) -> _Graded:
        """Return all files with their reports. They are graded at the first call."""
        if self._graded is None:
            is_only_listed = self._config.getoption("collectonly")
            self._graded = grade(self._options, is_only_listed=is_only_listed)
        return self._graded

    def pytest_report_header(self) -> str:
        """Return the challenges and the seed."""
        challenges = dict.fromkeys(drill.challenge for drill in self._options.drills)
        return f"drill: {', '.join(challenges)}, seed {self._options.seed}"

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(
        self, file_path: Path, parent: pytest.Collector
    ) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
        """Collect our files, and let no other plugin import them."""
        others = yield
        return [self._file(parent, file_path)] if file_path in self._paths else others

    def _file(self, parent: pytest.Collector, path: Path) -> DrillFile:
        answers = [graded for graded in self.graded() if graded.drill.path == str(path)]
        file: DrillFile = DrillFile.from_parent(parent, path=path, answers=answers)
        return file

    def pytest_collectstart(self, collector: pytest.Collector) -> None:
        """Note that a file of ours lies where pytest looks."""
        if isinstance(collector, DrillFile):
            self._collected.add(collector.path)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        """Add the files that lie outside the folders in which pytest looked."""
        for path in self._paths:
            if path not in self._collected:
                items.extend(session.genitems(self._file(session, path)))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Settle the results, now that the chosen tests are known.

        After an interrupt pytest calls this too: nothing is graded here.
        """
        ours = [item for item in session.items if isinstance(item, DrillItem)]
        for graded in self._graded or ():
            chosen = [item for item in ours if item.graded is graded]
            found = settled([item.result for item in chosen], graded.report)
            for item, result in zip(chosen, found, strict=True):
                item.result = result

    @pytest.hookimpl(wrapper=True)
    def pytest_report_to_serializable(
        self, report: pytest.CollectReport | pytest.TestReport
    ) -> Generator[None, Any, Any]:
        """Send a failure to the controller, which alone knows the terminal."""
        data = yield
        if isinstance(report.longrepr, FailedTest):
            data[_KEY] = msgspec.msgpack.encode(report.longrepr, enc_hook=rows_of)
        return data

    @pytest.hookimpl(wrapper=True)
    def pytest_report_from_serializable(self, data: dict[str, Any]) -> Generator[None, Any, Any]:
        """Receive a failure from a worker."""
        failure = data.pop(_KEY, None)
        report = yield
        if failure is not None:
            report.longrepr = msgspec.msgpack.decode(failure, type=FailedTest)
        return report

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Hand the reports over to a worker of xdist."""
        handed_over = (self._options, self.graded())
        node.workerinput[_KEY] = msgspec.msgpack.encode(handed_over, enc_hook=rows_of)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """End the run as a broken one if the grader failed: no test has failed then."""
        is_worker = hasattr(self._config, "workerinput")
        if not is_worker and any(graded.refusal for graded in self._graded or ()):
            session.exitstatus = pytest.ExitCode.INTERNAL_ERROR
