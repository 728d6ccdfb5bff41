"""Tests of `attn-drill compare`."""

import dataclasses
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import drill
from tests.support.compare import MIB
from trainer.packs import pack_reader
from trainer.tools import attention_costs

NAMES = ["MHA", "GQA, 8", "GQA, 4", "MQA", "MLA"]


def json_of(*arguments: str, cwd: Path) -> dict[str, Any]:
    """Return the object that `compare --json` prints."""
    printed: dict[str, Any] = json.loads(drill("compare", "--json", *arguments, cwd=cwd).stdout)
    return printed


@pytest.mark.parametrize(
    "arguments",
    [[], "--d-model 4096 --heads 32 --seq-len 2048 --batch 1 --dtype float32 --layers 1".split()],
    ids=["defaults", "named"],
)
def test_json_of_the_defaults_is_exact(arguments: list[str], tmp_path: Path) -> None:
    """Parameters, cache, percent and bytes per token are equal to the last digit."""
    rows = json_of(*arguments, cwd=tmp_path)["rows"]
    assert [
        (
            row["variant"],
            row["num_kv_heads"],
            row["parameters"],
            row["cache_bytes"],
            row["cache_percent"],
            row["bytes_per_token"],
        )
        for row in rows
    ] == [
        ("MHA", 32, 67_108_864, 64 * MIB, 100, 32_768),
        ("GQA", 8, 41_943_040, 16 * MIB, 25, 8192),
        ("GQA", 4, 37_748_736, 8 * MIB, 12.5, 4096),
        ("MQA", 1, 34_603_008, 2 * MIB, 3.125, 1024),
        ("MLA", None, 48_496_640, 4.5 * MIB, 7.03125, 2304),
    ]


def test_table_has_a_line_for_each_variant(tmp_path: Path) -> None:
    """Sizes have units, and percentages have at most one decimal."""
    lines = drill("compare", cwd=tmp_path).stdout.splitlines()
    rows = [re.split(r" {2,}", line) for line in lines[2:8]]
    assert rows[0] == ["variant", "parameters", "KV cache", "of MHA", "a token"]
    assert [row[:-1] for row in rows[1:]] == [
        ["MHA", "67,108,864", "64 MiB", "100 %", "32 KiB"],
        ["GQA, 8 KV heads", "41,943,040", "16 MiB", "25 %", "8 KiB"],
        ["GQA, 4 KV heads", "37,748,736", "8 MiB", "12.5 %", "4 KiB"],
        ["MQA", "34,603,008", "2 MiB", "3.1 %", "1 KiB"],
        ["MLA", "48,496,640", "4.5 MiB", "7 %", "2.3 KiB"],
    ]
    lengths = [len(row[-1]) for row in rows[1:4]]
    assert lengths == [24, 6, 3]
    text = " ".join(drill("compare", cwd=tmp_path).stdout.split())
    assert (
        "kv_rank + rope_dim = 512 + 64 numbers a token and layer: "
        "4 head_dim and head_dim / 2, as DeepSeek-V2 chose them."
    ) in text


def test_given_kv_heads_are_the_only_row_of_gqa(tmp_path: Path) -> None:
    """If the row is really MHA or MQA, the text says so."""
    rows = json_of("--kv-heads", "8", cwd=tmp_path)["rows"]
    assert [(row["variant"], row["num_kv_heads"]) for row in rows] == [
        ("MHA", 32),
        ("GQA", 8),
        ("MQA", 1),
        ("MLA", None),
    ]
    assert "is MHA." in drill("compare", "--kv-heads", "32", cwd=tmp_path).stdout
    assert "is MQA." in drill("compare", "--kv-heads", "1", cwd=tmp_path).stdout
    assert not re.search(r"is M[HQ]A\.", drill("compare", "--kv-heads", "2", cwd=tmp_path).stdout)


@pytest.mark.parametrize(
    ("preset", "variant", "num_kv_heads", "token_bytes", "layers", "dtype"),
    [
        pytest.param("Llama-2-7B", "MHA", 32, 512 * 1024, 32, "float16", id="Llama-2-7B"),
        pytest.param("llama-3-8b", "GQA", 8, 128 * 1024, 32, "bfloat16", id="Llama-3-8B"),
        pytest.param("Llama-3-70B", "GQA", 8, 320 * 1024, 80, "bfloat16", id="Llama-3-70B"),
        pytest.param("MISTRAL-7B", "GQA", 8, 128 * 1024, 32, "bfloat16", id="Mistral-7B"),
        pytest.param("DeepSeek-V3", "MLA", None, 70_272, 61, "bfloat16", id="DeepSeek-V3"),
    ],
)
def test_published_models_have_their_known_cache_sizes(
    preset: str,
    variant: str,
    num_kv_heads: int | None,
    token_bytes: int,
    layers: int,
    dtype: str,
    tmp_path: Path,
) -> None:
    """The costs are in the published dtype and count all layers. The text says both."""
    printed = json_of("--preset", preset, cwd=tmp_path)
    assert printed["configuration"]["dtype"] == dtype
    kind = (variant, num_kv_heads)
    rows = [row for row in printed["rows"] if (row["variant"], row["num_kv_heads"]) == kind]
    assert [row["bytes_per_token"] for row in rows] == [token_bytes]
    text = " ".join(drill("compare", "--preset", preset, cwd=tmp_path).stdout.split())
    assert f"all {layers} layers" in text
    assert f"itself has {variant}" in text
    assert f"counted in {dtype}, 2 bytes a number" in text


def test_given_dtype_wins_over_that_of_the_preset(tmp_path: Path) -> None:
    """Without a preset the dtype is float32."""
    in_float32 = json_of("--preset", "Llama-3-8B", "--dtype", "float32", cwd=tmp_path)["rows"]
    in_bfloat16 = json_of("--preset", "Llama-3-8B", cwd=tmp_path)["rows"]
    assert [row["bytes_per_token"] for row in in_float32] == [
        2 * row["bytes_per_token"] for row in in_bfloat16
    ]
    assert json_of(cwd=tmp_path)["configuration"]["dtype"] == "float32"
    text = drill("compare", "--preset", "Llama-3-8B", "--dtype", "float32", cwd=tmp_path).stdout
    assert "4 bytes a number." in " ".join(text.split())


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "arguments",
    [[], ["--preset", "DeepSeek-V3", "--seq-len", "1000000", "--batch", "128"]],
    ids=["defaults", "large"],
)
@pytest.mark.parametrize("columns", [120, 80, 64, 50])
def test_table_fits_the_terminal(columns: int, arguments: list[str], tmp_path: Path) -> None:
    """All variants and numbers are shown, from 70 columns on with bars."""
    text = drill("compare", *arguments, cwd=tmp_path, COLUMNS=str(columns)).stdout
    assert max(len(line) for line in text.splitlines()) <= columns
    for row in json_of(*arguments, cwd=tmp_path)["rows"]:
        for word in (
            f"{row['parameters']:,}",
            attention_costs.in_units(row["cache_bytes"]),
            f"{attention_costs.decimal(row['cache_percent'])} %",
        ):
            assert word in text
    lines = text.splitlines()
    assert re.findall(r"(?m)^(MHA|GQA, [48]|MQA|MLA) ", text)[:5] == NAMES
    assert sum(bool(re.search("[█▉▊▋▌▍▎▏]", line)) for line in lines) == (5 if columns >= 70 else 0)


def test_numbers_fold_on_a_very_narrow_terminal(tmp_path: Path) -> None:
    """At 40 columns, no digit is lost."""
    text = drill("compare", cwd=tmp_path, COLUMNS="40").stdout
    assert max(len(line) for line in text.splitlines()) <= 40
    assert re.search(r"MHA +67,108,8 .*\n +64\n", text)


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False)],
    ids=["terminal", "NO_COLOR"],
)
def test_colour_is_used_only_on_a_terminal(
    environment: dict[str, str], coloured: bool, tmp_path: Path
) -> None:
    """NO_COLOR turns the colour off."""
    master, slave = pty.openpty()
    variables = {**os.environ, "PYTHONPATH": str(pack_reader.TRAINER.parent), **environment}
    process = subprocess.Popen(
        [sys.executable, "-m", "trainer", "compare"], cwd=tmp_path, env=variables, stdout=slave
    )
    os.close(slave)
    shown = b""
    try:
        while part := os.read(master, 65536):
            shown += part
    except OSError:
        pass  # Linux reports the end of the output as an error
    assert process.wait(timeout=60) == 0
    os.close(master)
    assert b"67,108,864" in shown
    assert bool(re.search(rb"\x1b\[(38;|9)", shown)) == coloured
    assert "\x1b" not in drill("compare", cwd=tmp_path, **environment).stdout


def test_table_needs_no_torch(tmp_path: Path) -> None:
    """Without --measure, numpy is not imported either."""
    script = (
        "import sys; from trainer.cli import commands; sys.argv = ['attn-drill', 'compare']; "
        "assert commands.run() == 0; "
        "print(sorted(set(sys.modules) & {'torch', 'numpy'}), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(pack_reader.TRAINER.parent)},
    )
    assert done.stderr.strip() == "[]"
    assert done.stdout.startswith("d_model 4096")


BAD = [
    pytest.param(
        ["--d-model", "100", "--heads", "7"],
        ["--d-model 100", "--heads 7", "98 or 105"],
        id="d_model",
    ),
    pytest.param(
        ["--d-model", "3", "--heads", "7"],
        ["--d-model 3", "--heads 7", "Give --d-model 7,"],
        id="d_model below heads",
    ),
    pytest.param(
        ["--heads", "32", "--kv-heads", "5"],
        ["--heads 32", "--kv-heads 5", "1, 2, 4, 8, 16, 32"],
        id="kv heads",
    ),
    pytest.param(
        ["--heads", "8", "--kv-heads", "16"],
        ["--heads 8", "--kv-heads 16", "1, 2, 4, 8"],
        id="more kv heads than heads",
    ),
    pytest.param(
        ["--preset", "Llama-3-8B", "--heads", "4"],
        ["--heads 4", "--kv-heads 8", "1, 2, 4"],
        id="a preset's kv heads",
    ),
    *(
        pytest.param([option, "0"], [f"{option} is 0", "at least 1"], id=f"{option} 0")
        for option in attention_costs.OPTIONS.values()
    ),
    pytest.param(["--batch", "-3"], ["--batch is -3", "at least 1"], id="negative"),
    pytest.param(
        ["--seq-len", "1000000001"], ["1,000,000,001", "at most 1,000,000,000"], id="too large"
    ),
    pytest.param(
        ["--seq-len", "9" * 400],
        ["a number of 400 digits", "at most 1,000,000,000"],
        id="400 digits",
    ),
    pytest.param(["--heads", "many"], ["'many' is not a valid int"], id="not a number"),
    pytest.param(["--dtype", "bfloat"], ["'bfloat'", "Did you mean bfloat16"], id="dtype"),
    pytest.param(
        ["--dtype", "quark"],
        ["'quark'", "There are: float64, float32, bfloat16, float16, float8, int8"],
        id="dtype unlike any",
    ),
    pytest.param(
        ["--preset", "Lama-3-8B"], ["'Lama-3-8B'", "Did you mean Llama-3-8B"], id="preset"
    ),
    pytest.param(["--preset", ""], ["There are: Llama-2-7B"], id="empty preset"),
    pytest.param(
        ["--measure", "--dtype", "int8"], ["cannot time int8", "--dtype float64"], id="measure int8"
    ),
    pytest.param(
        ["--measure", "--dtype", "float8"], ["cannot time float8", "bfloat16"], id="measure float8"
    ),
    pytest.param(
        ["--measure", "--seq-len", "1000000"],
        ["would need 45.9 GiB", "4 GiB at most", "--seq-len"],
        id="measure too much",
    ),
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("arguments", "says"), BAD)
def test_bad_input(arguments: list[str], says: list[str], tmp_path: Path) -> None:
    """Exit with 2 and print one line with both values and the next step."""
    done = drill("compare", *arguments, cwd=tmp_path, code=2)
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    for phrase in says:
        assert phrase in done.stderr


def test_largest_sizes_fit_the_table(tmp_path: Path) -> None:
    """Large numbers are shown as powers of ten."""
    arguments = [
        word
        for option in ("--d-model", "--heads", "--seq-len", "--batch", "--layers", "--head-dim")
        for word in (option, "1000000000")
    ]
    text = drill("compare", *arguments, cwd=tmp_path).stdout
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "4.00e+36" in text
    assert "EiB" in text


def test_smallest_sizes_give_rows_of_mha_and_mqa(tmp_path: Path) -> None:
    """One head of one number is MHA and MQA at once."""
    rows = json_of(*"--d-model 1 --heads 1 --seq-len 1 --dtype int8".split(), cwd=tmp_path)["rows"]
    assert [(row["variant"], row["parameters"], row["cache_bytes"]) for row in rows] == [
        ("MHA", 4, 2),
        ("MQA", 4, 2),
        ("MLA", 14, 4),
    ]


def test_json_has_the_whole_configuration(tmp_path: Path) -> None:
    """It includes sizes that were not given. `measured` is null without --measure."""
    printed = json_of("--preset", "Mistral-7B", "--batch", "2", cwd=tmp_path)
    assert printed.keys() == {"schema", "preset", "configuration", "rows", "measured"}
    assert (printed["schema"], printed["preset"], printed["measured"]) == (
        "attn-drill.compare/1",
        "Mistral-7B",
        None,
    )
    assert printed["configuration"] == dataclasses.asdict(
        attention_costs.configure(attention_costs.find_preset("Mistral-7B"), batch=2)
    )


TINY = "--d-model 48 --heads 4 --kv-heads 2 --seq-len 11 --batch 3 --measure".split()


def test_measured_ratios_are_relative_to_mha(tmp_path: Path) -> None:
    """The ratio of MHA is 1, and the quartiles lie around the median."""
    printed = json_of(*TINY, "--layers", "7", cwd=tmp_path)
    ratios = printed["measured"]["ratios"]
    assert len(ratios) == len(printed["rows"]) == 4
    assert ratios[0] == {"median": 1.0, "lower": 1.0, "upper": 1.0}
    assert all(0 < ratio["lower"] <= ratio["median"] <= ratio["upper"] for ratio in ratios)
    assert printed["measured"]["rounds"] >= 9


@pytest.mark.parametrize("columns", ["80", "50"])
def test_measured_ratios_are_shown_with_quartiles(columns: str, tmp_path: Path) -> None:
    """The text explains the ratios."""
    text = drill("compare", *TINY, cwd=tmp_path, COLUMNS=columns).stdout
    assert max(len(line) for line in text.splitlines()) <= int(columns)
    assert re.search(r"^MHA +x1\.00$", text, re.MULTILINE)
    assert re.search(
        r"^GQA, 2 KV heads +x\d+\.\d+  \(x\d+\.\d+ to x\d+\.\d+\)$", text, re.MULTILINE
    )
    assert "each time divided by MHA's of the same round" in " ".join(text.split())
