"""Read the options of a run, and grade its files."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from trainer.app.grade_file import check_limits, check_seed, fresh_seed
from trainer.app.open_packs import open_packs
from trainer.model.errors import DrillError
from trainer.model.limits import DEFAULT
from trainer.model.report import Report
from trainer.model.submission import Submission
from trainer.practice.learner_files import read_source
from trainer.server.messages import Grade, GradeReference, Refused, Verdict
from trainer.server.pool import ServerPool

_OUR_OPTIONS = re.compile(r"(^|`)--(seed|pack|time-limit|memory-limit)\b")


class Drill(msgspec.Struct, frozen=True):
    """A file and the challenge that it answers.

    Attributes:
        challenge: the id of the challenge.
        path: the absolute path of the file.
        submission: the text of the file. Its name is the path from the command line.
        challenges: all challenges that this file answers.
    """

    challenge: str
    path: str
    submission: Submission
    challenges: tuple[str, ...]


class Options(msgspec.Struct, frozen=True):
    """The options of a run.

    Attributes:
        drills: the files to grade.
        packs: the folders in which challenges are looked up, in this order.
        seed: the seed of the cases.
        seconds: the CPU seconds for all cases of a file.
        memory_mib: the memory beyond torch's own, in MiB.
    """

    drills: tuple[Drill, ...]
    packs: tuple[str, ...]
    seed: int
    seconds: float
    memory_mib: int


class GradedFile(msgspec.Struct, frozen=True):
    """A file and the reports on it.

    Attributes:
        drill: the file and its challenge.
        reference: the report on the reference, which defines the tests. It has no outcomes if the
            server refused to grade the reference.
        report: the report on the file, or on the reference if the file was not graded.
        refusal: the reason why there is no report, in one sentence, or "".
    """

    drill: Drill
    reference: Report
    report: Report
    refusal: str


def read_options(config: pytest.Config) -> Options:
    """Return the options of this run, with the text of each file.

    Raises:
        pytest.UsageError: an option is wrong, or a file cannot be read.
    """
    seed = config.getoption("attn_drill_seed")
    seed = fresh_seed() if seed is None else seed
    seconds, memory_mib = config.getoption("attn_drill_seconds"), config.getoption("attn_drill_mib")
    named_packs = [_absolute(config, name) for name in config.getoption("attn_drill_packs")]
    known_packs = open_packs(named_packs)
    submissions: dict[tuple[str, str], Submission] = {}
    try:
        check_seed(seed)
        check_limits(seconds, memory_mib)
        for text in config.getoption("attn_drill"):
            challenge_id, file = _parts(text)
            challenge, path = known_packs.find(challenge_id), _absolute(config, file)
            submissions[challenge.id, str(path)] = Submission(file, read_source(path))
        packs = tuple(str(folder) for folder in known_packs.roots())
    except DrillError as error:
        raise pytest.UsageError(with_plugin_options(str(error))) from None
    drills = []
    for (challenge_id, path_text), submission in submissions.items():
        challenges = tuple(other for other, other_path in submissions if other_path == path_text)
        drills.append(Drill(challenge_id, path_text, submission, challenges))
    return Options(tuple(drills), packs, seed, seconds, memory_mib)


def _parts(text: str) -> tuple[str, str]:
    """Return the challenge and the file of `ID=FILE`."""
    challenge_id, _, file = text.partition("=")
    if not (challenge_id.strip() and file):
        raise DrillError(
            f"--drill is {text!r}; it must be ID=FILE, a challenge and the file that answers it. "
            "`attn-drill list` shows the challenges."
        )
    if any("\ud800" <= letter <= "\udfff" for letter in file):
        raise DrillError(f"--drill names {file!r}, a path that is not UTF-8. Rename the file.")
    return challenge_id, file


def _absolute(config: pytest.Config, name: str) -> Path:
    """Return an absolute path without resolving symlinks, as pytest does.

    Expand `~` here, because a shell does not expand `~` after `=`.
    """
    return Path(os.path.abspath(config.invocation_params.dir / os.path.expanduser(name)))


def with_plugin_options(text: str) -> str:
    """Return a sentence with the options of `attn-drill check` replaced by those of this plugin."""
    return _OUR_OPTIONS.sub(r"\1--drill-\2", text)


def repeating_command(
    config: pytest.Config, drill: Drill, seed: int | None, names: Sequence[str]
) -> str:
    """Return the command that runs a test again on the same cases.

    Args:
        config: the configuration of this run.
        drill: the file of the test.
        seed: the seed of the cases.
        names: the names of the test's nodes below the file.
    """
    file = drill.submission.name
    words = ["pytest", *(f"--drill={challenge}={file}" for challenge in drill.challenges)]
    words.append(f"--drill-seed={seed}")
    # With a space instead of `=`, pytest would read the folder as a folder of tests.
    words += [f"--drill-pack={pack}" for pack in config.getoption("attn_drill_packs")]
    if (seconds := config.getoption("attn_drill_seconds")) != DEFAULT.seconds:
        words.append(f"--drill-time-limit={seconds:g}")
    if (memory_mib := config.getoption("attn_drill_mib")) != DEFAULT.memory_mib:
        words.append(f"--drill-memory-limit={memory_mib}")
    return shlex.join([*words, "::".join([file, *names])])


def grade(options: Options, *, is_only_listed: bool) -> tuple[GradedFile, ...]:
    """Grade all files, one after the other, in one separate process.

    Args:
        options: the files and the limits.
        is_only_listed: True if only the names of the tests are needed. Then no file is graded.
    """
    challenges = [drill.challenge for drill in options.drills]
    graded = []
    with contextlib.closing(ServerPool()) as pool:
        # Grade all references first. The limits of a file would also hold for a later reference.
        references = {
            name: _graded_reference(pool, options, name) for name in dict.fromkeys(challenges)
        }
        for drill in options.drills:
            reference, refusal = references[drill.challenge]
            report = reference
            if not refusal and not is_only_listed:
                request = Grade(
                    drill.challenge,
                    drill.submission,
                    options.seed,
                    is_shared=challenges.count(drill.challenge) > 1,
                    seconds=options.seconds,
                    memory_mib=options.memory_mib,
                )
                report, refusal = _ask(pool, options, request, reference)
            graded.append(GradedFile(drill, reference, report, refusal))
    return tuple(graded)


def _graded_reference(pool: ServerPool, options: Options, challenge: str) -> tuple[Report, str]:
    """Return the report on the reference and "", or an empty report and the reason."""
    empty = Report(challenge, "", options.seed, "passed", ())
    request = GradeReference(challenge, options.seed)
    report, refusal = _ask(pool, options, request, empty)
    if report.verdict == "passed":
        return report, refusal
    return empty, (
        f"The reference of {challenge} itself does not pass here under seed {options.seed} "
        f"({report.verdict}), so nothing can be graded. "
        f"Run `attn-drill pack check --challenge {challenge}`."
    )


def _ask(
    pool: ServerPool, options: Options, request: Grade | GradeReference, fallback: Report
) -> tuple[Report, str]:
    """Return the server's report and "", or the fallback and the reason of the refusal."""
    reply = pool.ask(options.packs, request)
    assert isinstance(reply, Verdict | Refused)
    return (fallback, reply.sentence) if isinstance(reply, Refused) else (reply.report, "")
