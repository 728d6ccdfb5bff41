"""Take part in a run of pytest with `--drill`: grade each file at its collection.

Each check is a test. The files named by `--drill` are collected by this plugin only, so that pytest
never imports them. Under xdist, each worker grades the files itself, with the seed of the
controller.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from attn_drill.app.grade_file import check_seed, fresh_seed
from attn_drill.app.open_packs import open_packs
from attn_drill.model.challenge import Challenge, Submission
from attn_drill.model.errors import DrillError
from attn_drill.model.report import Outcome, Report
from attn_drill.practice.learner_files import read_source
from attn_drill.report.code_text import console
from attn_drill.report.terminal import next_commands, render
from attn_drill.report.wording import visible
from attn_drill.server.clients import ServerPool
from attn_drill.server.messages import Grade, Refused, Verdict

_KEY = "attn_drill_seed"
_LEAST_PYTEST = 8
_WIDTH = 80


class DrillRun:
    """The hooks of a run."""

    def __init__(self, config: pytest.Config) -> None:
        if int(pytest.version_tuple[0]) < _LEAST_PYTEST:
            raise pytest.UsageError(
                f"--drill needs pytest {_LEAST_PYTEST} or newer; this is {pytest.__version__}. "
                "Install a newer one."
            )
        self._pool = ServerPool()
        self._collected: set[Path] = set()
        self._answers: dict[Path, dict[str, tuple[Challenge, Submission]]] = {}
        self._reports: dict[Path, tuple[Report, ...]] = {}
        seed = getattr(config, "workerinput", {}).get(_KEY, config.getoption(_KEY))
        self.seed = fresh_seed() if seed is None else seed
        packs = [_absolute(config, name) for name in config.getoption("attn_drill_packs")]
        self._packs = open_packs(packs)
        try:
            check_seed(self.seed)
            for text in config.getoption("attn_drill"):
                challenge_id, _, file = text.partition("=")
                if not (challenge_id and file):
                    raise DrillError(
                        f"--drill is {text!r}; it must be ID=FILE, a challenge and the file that "
                        "answers it. `attn-drill list` shows the challenges."
                    )
                challenge, path = self._packs.find(challenge_id), _absolute(config, file)
                answer = (challenge, Submission(file, read_source(path)))
                self._answers.setdefault(path, {})[challenge.id] = answer
            self._roots = tuple(map(str, self._packs.roots()))
        except DrillError as error:
            raise pytest.UsageError(str(error)) from None
        if config.args_source is pytest.Config.ArgsSource.INVOCATION_DIR:
            # Without paths and `testpaths`, only the files of `--drill` run. pytest reads `[` in a
            # path as a part of a test id; `pytest_collection_modifyitems` adds such files.
            config.args = [str(path) for path in self._answers if "[" not in str(path)]

    def reports(self, path: Path) -> tuple[Report, ...]:
        """Grade a file once, and return a report for each challenge that it answers."""
        if path not in self._reports:
            reports = []
            for challenge, submission in self._answers[path].values():
                reply = self._pool.ask(self._roots, Grade(challenge.id, submission, self.seed))
                if isinstance(reply, Refused):
                    raise pytest.Collector.CollectError(reply.sentence)
                assert isinstance(reply, Verdict)
                reports.append(reply.report)
            self._reports[path] = tuple(reports)
        return self._reports[path]

    def commands(self, path: Path, report: Report) -> Iterator[str]:
        challenge, submission = self._answers[path][report.challenge]
        options = self._packs.pack_option(challenge)
        for label, command in next_commands(report, submission.name, options):
            yield f"{label:<16} {command}"

    def pytest_report_header(self) -> str:
        ids = dict.fromkeys(name for answers in self._answers.values() for name in answers)
        return f"drill: {', '.join(ids)}, seed {self.seed}"

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(
        self, file_path: Path, parent: pytest.Collector
    ) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
        """Collect the files of `--drill`, so that no other plugin imports them."""
        collectors = yield
        return [self._file(parent, file_path)] if file_path in self._answers else collectors

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        """Add the files of `--drill` that are not below the paths of this run."""
        for path in self._answers.keys() - self._collected:
            items.extend(session.genitems(self._file(session, path)))

    def _file(self, parent: pytest.Collector, path: Path) -> DrillFile:
        self._collected.add(path)
        file: DrillFile = DrillFile.from_parent(parent, path=path, run=self)
        return file

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        node.workerinput[_KEY] = self.seed

    def pytest_unconfigure(self) -> None:
        self._pool.close()


class DrillFile(pytest.File):
    """A file of `--drill`."""

    def __init__(self, run: DrillRun, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._run = run

    def collect(self) -> Iterator[pytest.Item]:
        reports = self._run.reports(self.path)
        for report in reports:
            before = ""
            if not self.path.is_relative_to(self.config.rootpath):
                before = f"{report.file} "  # pytest gives all files outside rootpath the same id
            if len(reports) > 1:
                before += f"{report.challenge} "
            for check, status in report.statuses().items():
                failures = [
                    outcome
                    for outcome in report.outcomes
                    if outcome.check == check and outcome.status == status != "passed"
                ]
                yield DrillItem.from_parent(
                    self, name=before + check, run=self._run, report=report, failures=failures
                )


class DrillItem(pytest.Item):
    """A check. Its result is already known: `failures` has its failed or skipped outcomes."""

    def __init__(
        self, run: DrillRun, report: Report, failures: list[Outcome], **arguments: Any
    ) -> None:
        super().__init__(**arguments)
        self._run, self._report, self._failures = run, report, failures
        self.extra_keyword_matches.add(report.challenge)  # for `-k gqa`

    def runtest(self) -> None:
        if self._failures:
            pytest.fail(self._text(), pytrace=False)

    def _text(self) -> str:
        """Return the whole report for the first failed check, and else the check's messages."""
        if self._report.first_failure() not in self._failures:
            return "\n".join(map(_headline, self._failures))
        out = console(width=_WIDTH, color_system=None, legacy_windows=False)
        with out.capture() as capture:
            out.print(render(self._report, _WIDTH, has_commands=False))
        lines = capture.get().rstrip().splitlines()
        return "\n".join([*lines, "", *self._run.commands(self.path, self._report)])

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the text, and for the summary the line and the message of the failure."""
        representation: Any = super().repr_failure(excinfo, style)
        if isinstance(excinfo.value, pytest.fail.Exception):
            crash, failure = representation.reprcrash, self._failures[0]
            crash.path, crash.message = str(self.path), _headline(failure)
            crash.lineno = failure.frames[-1].line if failure.frames else 1
        return representation

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name


def _headline(outcome: Outcome) -> str:
    """Return case and message in one line that cannot act on the terminal."""
    start = "not run: " if outcome.status == "skipped" else ""
    case = f"{outcome.case}: " if outcome.case else ""
    return " ".join(visible(f"{start}{case}{outcome.advised_message}", lines=True).split())


def _absolute(config: pytest.Config, name: str) -> Path:
    """Return an absolute path without resolving symlinks, as pytest does."""
    # A shell does not expand `~` after `=`.
    return Path(os.path.abspath(config.invocation_params.dir / os.path.expanduser(name)))
