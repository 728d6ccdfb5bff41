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

from trainer.app.grade_file import MEMORY_MIB, SECONDS, check_limits, check_seed, fresh_seed
from trainer.app.open_packs import open_packs
from trainer.model.errors import DrillError
from trainer.model.report import Report
from trainer.model.submission import Submission
from trainer.practice.learner_files import read_source
from trainer.server.messages import Grade, GradeReference, Refused, Verdict
from trainer.server.pool import ServerPool

_OUR_OPTIONS = re.compile(r"(^|`)--(seed|pack|time-limit|memory-limit)\b")


class Drill(msgspec.Struct, frozen=True):
    """A file and the challenge that it answers.

    path        absolute; the submission's name is the path as the command line has it
    challenges  all challenges that this file answers
    """

    challenge: str
    path: str
    submission: Submission
    challenges: tuple[str, ...]


class Options(msgspec.Struct, frozen=True):
    """The options of a run. Challenges are looked up in `packs`, the first of them first."""

    drills: tuple[Drill, ...]
    packs: tuple[str, ...]
    seed: int
    seconds: float
    memory_mib: int


class GradedFile(msgspec.Struct, frozen=True):
    """A file and the reports on it.

    reference   the report on the reference, which names the tests; without outcomes if refused
    report      the report on the file; the reference's if the file was not graded
    refusal     a sentence that says why there is no report; "" if there is one
    """

    drill: Drill
    reference: Report
    report: Report
    refusal: str


def read_options(config: pytest.Config) -> Options:
    """Return the options of this run, with the text of each file.

    Raises:
        pytest.UsageError: if an option is wrong, or a file cannot be read.
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
        raise pytest.UsageError(in_our_words(str(error))) from None
    drills = []
    for (challenge_id, place), submission in submissions.items():
        challenges = tuple(other for other, its_place in submissions if its_place == place)
        drills.append(Drill(challenge_id, place, submission, challenges))
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
    """Return a path as pytest has it: symlinks stay. A shell leaves `~` alone after `=`."""
    return Path(os.path.abspath(config.invocation_params.dir / os.path.expanduser(name)))


def in_our_words(text: str) -> str:
    """Return a sentence with the options of `attn-drill check` as they are called here."""
    return _OUR_OPTIONS.sub(r"\1--drill-\2", text)


def repeating_command(
    config: pytest.Config, drill: Drill, seed: int | None, names: Sequence[str]
) -> str:
    """Return the command that runs one test again on the same cases.

    Args:
        names: of the nodes below the file.
    """
    file = drill.submission.name
    words = ["pytest", *(f"--drill={challenge}={file}" for challenge in drill.challenges)]
    words.append(f"--drill-seed={seed}")
    # With a space instead of `=`, pytest would take a folder for a folder of tests.
    words += [f"--drill-pack={pack}" for pack in config.getoption("attn_drill_packs")]
    if (seconds := config.getoption("attn_drill_seconds")) != SECONDS:
        words.append(f"--drill-time-limit={seconds:g}")
    if (memory_mib := config.getoption("attn_drill_mib")) != MEMORY_MIB:
        words.append(f"--drill-memory-limit={memory_mib}")
    return shlex.join([*words, "::".join([file, *names])])


def grade(options: Options, *, is_only_listed: bool) -> tuple[GradedFile, ...]:
    """Grade all files, one after the other, in a process that ends with the last of them.

    Args:
        is_only_listed: the tests are wanted without results. The files are not graded.
    """
    challenges = [drill.challenge for drill in options.drills]
    graded = []
    with contextlib.closing(ServerPool()) as pool:
        # All references come first: the limits of a file would also hold for a later reference.
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
                report, refusal = _asked(pool, options, request, reference)
            graded.append(GradedFile(drill, reference, report, refusal))
    return tuple(graded)


def _graded_reference(pool: ServerPool, options: Options, challenge: str) -> tuple[Report, str]:
    """Return the report on the reference and "", or a report without outcomes and a sentence."""
    empty = Report(challenge, "", options.seed, "passed", ())
    request = GradeReference(challenge, options.seed)
    report, refusal = _asked(pool, options, request, empty)
    if report.verdict == "passed":
        return report, refusal
    return empty, (
        f"The reference of {challenge} itself does not pass here under seed {options.seed} "
        f"({report.verdict}), so nothing can be graded. "
        f"Run `attn-drill pack check --challenge {challenge}`."
    )


def _asked(
    pool: ServerPool, options: Options, request: Grade | GradeReference, otherwise: Report
) -> tuple[Report, str]:
    """Return a report and "", or the other report and why the request was refused."""
    reply = pool.ask(options.packs, request)
    assert isinstance(reply, Verdict | Refused)
    return (otherwise, reply.sentence) if isinstance(reply, Refused) else (reply.report, "")
