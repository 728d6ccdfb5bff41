"""Tests of `attn-drill compare`."""

import json
from pathlib import Path

import pytest

from tests.support.cli import drill

MIB = 1 << 20


def test_json_of_the_defaults_is_exact(tmp_path: Path) -> None:
    """Parameters, cache, percent and bytes per token are equal to the last digit."""
    printed = json.loads(drill("compare", "--json", cwd=tmp_path).stdout)
    assert printed.keys() == {"schema", "preset", "configuration", "rows"}
    assert (printed["schema"], printed["preset"]) == ("attn-drill.compare/2", None)
    assert printed["configuration"]["head_dim"] == 128
    assert [tuple(row.values()) for row in printed["rows"]] == [
        ("MHA", 32, 67_108_864, 64 * MIB, 32_768, 100),
        ("GQA", 8, 41_943_040, 16 * MIB, 8192, 25),
        ("GQA", 4, 37_748_736, 8 * MIB, 4096, 12.5),
        ("MQA", 1, 34_603_008, 2 * MIB, 1024, 3.125),
        ("MLA", None, 48_496_640, 4.5 * MIB, 2304, 7.03125),
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--set", "num_heads=many"], "num_heads is 'many'; it must be 1 to 1,000,000,000."),
        (["--preset", ""], "There is no preset ''. There are: Llama-2-7B"),
    ],
)
def test_bad_input_is_one_sentence(arguments: list[str], says: str, tmp_path: Path) -> None:
    """The exit code is 2."""
    done = drill("compare", *arguments, cwd=tmp_path, code=2)
    assert (done.stdout, len(done.stderr.splitlines())) == ("", 1)
    assert says in done.stderr
