"""Tests of reading the options of `pytest --drill`, and of the command that repeats a test."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.pytest_plugin import TINY, config_of
from trainer.pytest_plugin.grade_files import Drill, read_options, repeating_command


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"attn_drill": ["right.py"]}, "--drill is 'right.py'; it must be ID=FILE"),
        ({"attn_drill": ["=right.py"]}, "--drill is '=right.py'; it must be ID=FILE"),
        ({"attn_drill": ["prefix-sum="]}, "--drill is 'prefix-sum='; it must be ID=FILE"),
        ({"attn_drill": ["prefix-sun=right.py"]}, "No challenge is called 'prefix-sun'. Did you"),
        ({"attn_drill": ["prefix-sum=none.py"]}, "There is no file {place}/none.py."),
        ({"attn_drill": ["prefix-sum=."]}, "{place} is a folder."),
        ({"attn_drill": ["prefix-sum=caf\udce9.py"]}, "'caf\\udce9.py', a path that is not UTF-8."),
        ({"attn_drill_packs": ["."]}, "--drill-pack names {place}, which is not a pack"),
        ({"attn_drill_seed": -1}, "--drill-seed is -1; it must be 0 to"),
        ({"attn_drill_seed": 1 << 63}, "--drill-seed is 9223372036854775808; it must be 0 to"),
        ({"attn_drill_seconds": 0.0}, "--drill-time-limit is 0; it must be more than 0"),
        ({"attn_drill_seconds": float("nan")}, "--drill-time-limit is nan; it must be more than 0"),
        ({"attn_drill_mib": 15}, "--drill-memory-limit is 15; it must be 16 to 1048576 MiB."),
    ],
)
def test_bad_options_are_usage_errors(folder: Path, options: dict[str, Any], sentence: str) -> None:
    """The message has the given value and the possible values."""
    with pytest.raises(pytest.UsageError, match=re.escape(sentence.format(place=folder))):
        read_options(config_of(folder, **options))


def test_files_are_relative_to_the_folder_where_pytest_started(folder: Path) -> None:
    """A file that is named twice is graded once. Each run has a fresh seed."""
    files = ["prefix-sum=right.py", "prefix_sum=./sub/../right.py", "signs=right.py"]
    config = config_of(folder, attn_drill=files)
    first, second = read_options(config), read_options(config)
    assert [(drill.challenge, drill.path) for drill in first.drills] == [
        ("prefix-sum", str(folder / "right.py")),
        ("signs", str(folder / "right.py")),
    ]
    assert first.seed != second.seed
    assert first.packs[0] == str(TINY)


def test_repeating_command_leaves_out_default_limits(folder: Path) -> None:
    """The command always has the files, the seed and the packs."""
    (drill,) = read_options(config_of(folder)).drills
    plain = repeating_command(config_of(folder), drill, 5, ("values", "second [B, 1]"))
    start = "pytest --drill=prefix-sum=right.py"
    pack = f"--drill-pack={TINY}"
    assert plain == f"{start} --drill-seed=5 {pack} 'right.py::values::second [B, 1]'"
    both = Drill("signs", drill.path, drill.submission, ("prefix-sum", "signs"))
    config = config_of(folder, attn_drill_seconds=2.5, attn_drill_mib=64)
    limited = repeating_command(config, both, 5, ("signs", "loads"))
    limits = "--drill-time-limit=2.5 --drill-memory-limit=64"
    end = f"--drill-seed=5 {pack} {limits} right.py::signs::loads"
    assert limited == f"{start} --drill=signs=right.py {end}"
