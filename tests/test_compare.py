"""`attn-drill compare`: its figures against the references', its table at every width, and the decode steps that it times."""

import dataclasses
import functools
import json
import os
import pty
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tests.test_cli import drill
from trainer.model.errors import DrillError
from trainer.packs import pack_reader
from trainer.report import cost_table as display
from trainer.tools import attention_costs, decode_steps

MIB = 1 << 20
NAMES = ["MHA", "GQA, 8 KV heads", "GQA, 4 KV heads", "MQA", "MLA"]


def reference(folder: str) -> dict[str, Any]:
    """What the reference of a challenge defines, by name."""
    return runpy.run_path(str(pack_reader.built_in_pack() / "solutions" / folder / "solution.py"))


def told(*arguments: str, cwd: Path) -> dict[str, Any]:
    """The object of `compare --json`."""
    found: dict[str, Any] = json.loads(drill("compare", "--json", *arguments, cwd=cwd).stdout)
    return found


def by_name(configuration: attention_costs.Configuration) -> dict[str, attention_costs.Cost]:
    """The costs by variant; of several GQA rows the last."""
    return {row.variant: row for row in attention_costs.costs(configuration)}


def count(module: torch.nn.Module) -> int:
    """The number of a module's parameters."""
    return sum(one.numel() for one in module.parameters())


@pytest.mark.parametrize(
    "arguments",
    [[], "--d-model 4096 --heads 32 --seq-len 2048 --batch 1 --dtype float32 --layers 1".split()],
    ids=["defaults", "named"],
)
def test_the_figures_of_the_defaults(arguments: list[str], tmp_path: Path) -> None:
    """Parameters, cache, percent and bytes a token, to the last digit."""
    rows = told(*arguments, cwd=tmp_path)["rows"]
    assert [
        (
            one["variant"],
            one["num_kv_heads"],
            one["parameters"],
            one["cache_bytes"],
            one["cache_percent"],
            one["bytes_per_token"],
        )
        for one in rows
    ] == [
        ("MHA", 32, 67_108_864, 64 * MIB, 100, 32_768),
        ("GQA", 8, 41_943_040, 16 * MIB, 25, 8192),
        ("GQA", 4, 37_748_736, 8 * MIB, 12.5, 4096),
        ("MQA", 1, 34_603_008, 2 * MIB, 3.125, 1024),
        ("MLA", None, 48_496_640, 4.5 * MIB, 7.03125, 2304),
    ]


def test_the_table_of_the_defaults(tmp_path: Path) -> None:
    """A line a variant, with the units and the percents as people write them."""
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
        "kv_rank + rope_dim = 512 + 64 numbers a token and layer: 4 head_dim and head_dim / 2, as DeepSeek-V2 chose them."
        in text
    )


def test_given_kv_heads_stand_alone(tmp_path: Path) -> None:
    """With --kv-heads there is one row of GQA, and where it is another variant in truth the text says so."""
    found = told("--kv-heads", "8", cwd=tmp_path)["rows"]
    assert [(one["variant"], one["num_kv_heads"]) for one in found] == [
        ("MHA", 32),
        ("GQA", 8),
        ("MQA", 1),
        ("MLA", None),
    ]
    assert "is MHA." in drill("compare", "--kv-heads", "32", cwd=tmp_path).stdout
    assert "is MQA." in drill("compare", "--kv-heads", "1", cwd=tmp_path).stdout
    assert not re.search(r"is M[HQ]A\.", drill("compare", "--kv-heads", "2", cwd=tmp_path).stdout)


@pytest.mark.parametrize(
    ("num_heads", "expected"),
    [(32, [8, 4]), (64, [8, 4]), (8, [4]), (12, [4]), (4, []), (6, []), (1, [])],
)
def test_the_usual_numbers_of_kv_heads(num_heads: int, expected: list[int]) -> None:
    """8, then 4, where they divide the heads and are not all of them; without either the text says what to do."""
    configuration = attention_costs.configure(d_model=192, num_heads=num_heads)
    rows = attention_costs.costs(configuration)
    assert [row.num_kv_heads for row in rows if row.variant == "GQA"] == expected
    text = display.as_text(configuration, None, rows, None, width=300, unicode=True, colour=False)
    assert ("Neither 8 nor 4 KV heads" in text) == (not expected)


def test_the_formulas_of_the_cost_challenge() -> None:
    """Parameters and caches are those of the reference of `attention-cost`, whatever the sizes."""
    known = reference("attention_cost")
    for d_model, heads, kv_heads, seq_len, batch, layers, dtype, size in [
        (30, 6, 3, 7, 2, 5, "float16", 2),
        (77, 11, 1, 13, 3, 1, "float64", 8),
        (48, 8, 2, 1, 1, 9, "int8", 1),
    ]:
        configuration = attention_costs.configure(
            None,
            dtype,
            d_model=d_model,
            num_heads=heads,
            num_kv_heads=kv_heads,
            seq_len=seq_len,
            batch=batch,
            num_layers=layers,
            kv_rank=17,
            rope_dim=10,
        )
        for row in attention_costs.costs(configuration):
            if row.num_kv_heads is None:
                expected = known["mla_cache_bytes"](batch, seq_len, layers, 17, 10, size)
            else:
                assert row.parameters == layers * known["attention_params"](
                    d_model, heads, row.num_kv_heads
                )
                expected = known["kv_cache_bytes"](
                    batch, seq_len, layers, row.num_kv_heads, d_model // heads, size
                )
            assert row.cache_bytes == expected
            assert row.bytes_per_token * batch * seq_len == expected


def test_the_parameters_of_the_references_layers() -> None:
    """The reference modules have as many parameters, MLA with its query's low-rank pair and without."""
    configuration = attention_costs.configure(
        d_model=36, num_heads=6, num_kv_heads=2, kv_rank=11, rope_dim=4, q_rank=7
    )
    found = by_name(configuration)
    assert found["MHA"].parameters == count(
        reference("mha")["MultiHeadAttention"](36, 6, bias=False)
    )
    assert found["GQA"].parameters == count(
        reference("gqa")["GroupedQueryAttention"](36, 6, 2, bias=False)
    )
    assert found["MQA"].parameters == count(
        reference("mqa")["MultiQueryAttention"](36, 6, bias=False)
    )
    latent = reference("mla")["MultiHeadLatentAttention"](36, 6, 7, 11, 6, 4, 6)
    assert found["MLA"].parameters == count(latent)
    pair = count(latent.q_down) + count(latent.q_up) + count(latent.q_rope)
    whole = by_name(dataclasses.replace(configuration, q_rank=None))["MLA"].parameters
    assert whole == count(latent) - pair + count(torch.nn.Linear(36, 6 * (6 + 4), bias=False))


@pytest.mark.parametrize(
    ("preset", "variant", "num_kv_heads", "a_token", "layers", "dtype"),
    [
        pytest.param("Llama-2-7B", "MHA", 32, 512 * 1024, 32, "float16", id="Llama-2-7B"),
        pytest.param("llama-3-8b", "GQA", 8, 128 * 1024, 32, "bfloat16", id="Llama-3-8B"),
        pytest.param("Llama-3-70B", "GQA", 8, 320 * 1024, 80, "bfloat16", id="Llama-3-70B"),
        pytest.param("MISTRAL-7B", "GQA", 8, 128 * 1024, 32, "bfloat16", id="Mistral-7B"),
        pytest.param("DeepSeek-V3", "MLA", None, 70_272, 61, "bfloat16", id="DeepSeek-V3"),
    ],
)
def test_published_models(
    preset: str,
    variant: str,
    num_kv_heads: int | None,
    a_token: int,
    layers: int,
    dtype: str,
    tmp_path: Path,
) -> None:
    """A token of the variant that the model has costs what is known of it, in the dtype in which
    the model is published; all layers are counted, and the text says both."""
    found = told("--preset", preset, cwd=tmp_path)
    assert found["configuration"]["dtype"] == dtype
    kind = (variant, num_kv_heads)
    rows = [row for row in found["rows"] if (row["variant"], row["num_kv_heads"]) == kind]
    assert [row["bytes_per_token"] for row in rows] == [a_token]
    text = " ".join(drill("compare", "--preset", preset, cwd=tmp_path).stdout.split())
    assert f"all {layers} layers" in text
    assert f"itself has {variant}" in text
    assert f"counted in {dtype}, 2 bytes a number" in text


def test_a_dtype_that_is_given_beats_that_of_the_preset(tmp_path: Path) -> None:
    """Without a preset the dtype is float32; `--dtype` wins over both."""
    in_float32 = told("--preset", "Llama-3-8B", "--dtype", "float32", cwd=tmp_path)["rows"]
    in_bfloat16 = told("--preset", "Llama-3-8B", cwd=tmp_path)["rows"]
    assert [row["bytes_per_token"] for row in in_float32] == [
        2 * row["bytes_per_token"] for row in in_bfloat16
    ]
    assert told(cwd=tmp_path)["configuration"]["dtype"] == "float32"
    text = drill("compare", "--preset", "Llama-3-8B", "--dtype", "float32", cwd=tmp_path).stdout
    assert "4 bytes a number." in " ".join(text.split())


def test_deepseek_v3() -> None:
    """Beside 128 heads of 128, MLA's cache is 1/56.9, and a layer has 187 million parameters."""
    configuration = attention_costs.configure(
        attention_costs.find_preset("DeepSeek-V3"), "bfloat16"
    )
    found = by_name(configuration)
    assert found["MHA"].bytes_per_token == 3_997_696
    assert round(100 / found["MLA"].cache_percent, 1) == 56.9
    assert found["MLA"].parameters == 61 * (
        7168 * 1536 + 1536 * 128 * 192 + 7168 * 576 + 512 * 128 * 256 + 128 * 128 * 7168
    )


def test_options_override_a_preset() -> None:
    """What is given beside a preset wins; a head dim that is d_model / heads follows, one that is published by itself stays."""
    llama = attention_costs.configure(
        attention_costs.find_preset("Llama-3-8B"), d_model=2048, num_kv_heads=4, num_layers=2
    )
    assert (
        llama.d_model,
        llama.num_heads,
        llama.num_kv_heads,
        llama.head_dim,
        llama.num_layers,
        llama.kv_rank,
        llama.rope_dim,
    ) == (
        2048,
        32,
        4,
        64,
        2,
        256,
        32,
    )
    assert (
        attention_costs.configure(
            attention_costs.find_preset("Llama-3-8B"), d_model=2048, head_dim=128
        ).head_dim
        == 128
    )
    deepseek = attention_costs.configure(
        attention_costs.find_preset("DeepSeek-V3"), d_model=5120, kv_rank=256
    )
    assert (deepseek.head_dim, deepseek.kv_rank, deepseek.rope_dim, deepseek.q_rank) == (
        128,
        256,
        64,
        1536,
    )


@pytest.mark.parametrize(
    "arguments",
    [[], ["--preset", "DeepSeek-V3", "--seq-len", "1000000", "--batch", "128"]],
    ids=["defaults", "large"],
)
@pytest.mark.parametrize("columns", [120, 80, 64, 50, 40])
def test_it_fits_the_terminal(columns: int, arguments: list[str], tmp_path: Path) -> None:
    """No line is wider than the terminal, and no variant, figure or bar is lost."""
    text = drill("compare", *arguments, cwd=tmp_path, COLUMNS=str(columns)).stdout
    assert max(len(line) for line in text.splitlines()) <= columns
    for row in told(*arguments, cwd=tmp_path)["rows"]:
        for word in (
            f"{row['parameters']:,}",
            attention_costs.in_units(row["cache_bytes"]),
            f"{attention_costs.decimal(row['cache_percent'])} %",
        ):
            assert word in text
    lines = text.splitlines()
    assert [
        next(name for name in NAMES if line.startswith(name))
        for line in lines
        if line.startswith(tuple(NAMES)) and not line.startswith(("MLA caches", "MLA's"))
    ] == NAMES
    assert sum(bool(re.search("[█▉▊▋▌▍▎▏]", line)) for line in lines) == 5


def test_a_very_narrow_terminal_loses_bars_only(tmp_path: Path) -> None:
    """At 24 columns the figures are there and the bars are not."""
    text = drill("compare", cwd=tmp_path, COLUMNS="24").stdout
    assert max(len(line) for line in text.splitlines()) <= 24
    assert "67,108,864" in text
    assert "█" not in text


@pytest.mark.parametrize("columns", ["80", "50"])
def test_ascii_where_the_encoding_has_no_more(columns: str, tmp_path: Path) -> None:
    """Bars of `#`, and no character that the stream would refuse."""
    done = drill("compare", cwd=tmp_path, PYTHONIOENCODING="ascii", COLUMNS=columns)
    assert done.stdout.isascii()
    bars = [len(one) for one in re.findall("#+", done.stdout)]
    assert bars[0] == max(bars)
    assert bars[:4] == [
        bars[0],
        round(bars[0] / 4),
        round(bars[0] / 8),
        max(1, round(bars[0] / 32)),
    ]


def test_bars_are_as_long_as_the_caches() -> None:
    """To an eighth of a character; where MLA's cache is the greatest its bar is the longest; the smallest still shows."""
    assert [display._bar(size, 64, 16, unicode=True) for size in (64, 32, 2, 1, 0)] == [
        "█" * 16,
        "█" * 8,
        "▌",
        "▎",
        "▏",
    ]
    assert len(display._bar(3, 64, 16, unicode=True)) == 1
    configuration = attention_costs.configure(d_model=64, num_heads=4, kv_rank=500)
    text = display.as_text(
        configuration,
        None,
        attention_costs.costs(configuration),
        None,
        width=80,
        unicode=False,
        colour=False,
    )
    bars = [len(one) for one in re.findall("#+", text)]
    assert bars[-1] == max(bars) > bars[0]
    assert max(len(line) for line in text.splitlines()) <= 80


@pytest.mark.parametrize(
    ("environment", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False)],
    ids=["terminal", "NO_COLOR"],
)
def test_colour_on_a_terminal_only(
    environment: dict[str, str], coloured: bool, tmp_path: Path
) -> None:
    """Escape sequences on a terminal without NO_COLOR, and never in a pipe."""
    master, slave = pty.openpty()
    everything = {**os.environ, "PYTHONPATH": str(pack_reader.TRAINER.parent), **environment}
    process = subprocess.Popen(
        [sys.executable, "-m", "trainer", "compare"], cwd=tmp_path, env=everything, stdout=slave
    )
    os.close(slave)
    shown = b""
    try:
        while part := os.read(master, 65536):
            shown += part
    except OSError:
        pass  # Linux says so at the end
    assert process.wait(timeout=60) == 0
    os.close(master)
    assert b"67,108,864" in shown
    assert (b"\x1b[" in shown) == coloured
    assert "\x1b" not in drill("compare", cwd=tmp_path, **environment).stdout


def test_the_table_imports_no_torch(tmp_path: Path) -> None:
    """Without --measure neither torch nor numpy nor (into a pipe) rich is imported."""
    script = (
        "import sys; from trainer.cli import commands; sys.argv = ['attn-drill', 'compare']; assert commands._run() == 0;"
        "print(sorted(set(sys.modules) & {'torch', 'numpy', 'rich'}), file=sys.stderr)"
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
        ["--seq-len", "1000000001"], ["1,000,000,001", "1,000,000,000 at most"], id="absurd"
    ),
    pytest.param(
        ["--seq-len", "9" * 400],
        ["a number of 400 digits", "1,000,000,000 at most"],
        id="more absurd",
    ),
    pytest.param(["--heads", "many"], ["'many' is not a valid int"], id="no number"),
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


@pytest.mark.parametrize(("arguments", "says"), BAD)
def test_bad_input(arguments: list[str], says: list[str], tmp_path: Path) -> None:
    """Exit 2, nothing on stdout, and one line with both values and the next step."""
    done = drill("compare", *arguments, cwd=tmp_path, code=2)
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) == 1
    for words in says:
        assert words in done.stderr


def test_the_largest_sizes_are_shown(tmp_path: Path) -> None:
    """Every size at its greatest: figures as powers of ten, no line too wide, no crash."""
    arguments = [
        word
        for option in ("--d-model", "--heads", "--seq-len", "--batch", "--layers", "--head-dim")
        for word in (option, "1000000000")
    ]
    text = drill("compare", *arguments, cwd=tmp_path).stdout
    assert max(len(line) for line in text.splitlines()) <= 80
    assert "4.00e+36" in text
    assert "EiB" in text


def test_one_of_everything(tmp_path: Path) -> None:
    """The smallest sizes: one head of one number is MHA and MQA at once."""
    rows = told(*"--d-model 1 --heads 1 --seq-len 1 --dtype int8".split(), cwd=tmp_path)["rows"]
    assert [(one["variant"], one["parameters"], one["cache_bytes"]) for one in rows] == [
        ("MHA", 4, 2),
        ("MQA", 4, 2),
        ("MLA", 14, 4),
    ]


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (1023, "1,023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (2304, "2.3 KiB"),
        (MIB - 1, "1 MiB"),
        (64 * MIB, "64 MiB"),
        (4 << 30, "4 GiB"),
        (70_272, "68.6 KiB"),
        (5 << 40, "5 TiB"),
    ],
)
def test_bytes_in_units(size: int, shown: str) -> None:
    """Powers of 1024, at most one decimal, never 1024 of a unit that has a next one."""
    assert attention_costs.in_units(size) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (100.0, "100"),
        (12.5, "12.5"),
        (3.125, "3.1"),
        (6.25, "6.3"),
        (0.04, "<0.1"),
        (0.0, "0"),
        (99.96, "100"),
        (3904.0, "3,904"),
    ],
)
def test_decimals(value: float, shown: str) -> None:
    """One decimal, halves up, no `.0`, and nothing that is more than 0 shown as 0."""
    assert attention_costs.decimal(value) == shown


def test_json_says_the_same(tmp_path: Path) -> None:
    """The whole configuration, what was filled in too; null where nothing was measured."""
    found = told("--preset", "Mistral-7B", "--batch", "2", cwd=tmp_path)
    assert found.keys() == {"schema", "preset", "configuration", "rows", "measured"}
    assert (found["schema"], found["preset"], found["measured"]) == (
        "attn-drill.compare/1",
        "Mistral-7B",
        None,
    )
    assert found["configuration"] == dataclasses.asdict(
        attention_costs.configure(attention_costs.find_preset("Mistral-7B"), batch=2)
    )


TINY = "--d-model 48 --heads 4 --kv-heads 2 --seq-len 11 --batch 3 --measure".split()


def test_measured_ratios(tmp_path: Path) -> None:
    """MHA's ratio to itself is 1, the others are positive, the quartiles lie about the median, a step of each row is timed."""
    found = told(*TINY, "--layers", "7", cwd=tmp_path)
    ratios = found["measured"]["ratios"]
    assert len(ratios) == len(found["rows"]) == 4
    assert ratios[0] == {"median": 1.0, "lower": 1.0, "upper": 1.0}
    assert all(0 < one["lower"] <= one["median"] <= one["upper"] for one in ratios)
    assert found["measured"]["rounds"] >= 9


@pytest.mark.parametrize("columns", ["80", "50"])
def test_measured_in_words(columns: str, tmp_path: Path) -> None:
    """Ratios with their quartiles, and what they are ratios of."""
    text = drill("compare", *TINY, cwd=tmp_path, COLUMNS=columns).stdout
    assert max(len(line) for line in text.splitlines()) <= int(columns)
    assert re.search(r"^MHA +x1\.00$", text, re.MULTILINE)
    assert re.search(
        r"^GQA, 2 KV heads +x\d+\.\d+  \(x\d+\.\d+ to x\d+\.\d+\)$", text, re.MULTILINE
    )
    assert "each time divided by MHA's of the same round" in " ".join(text.split())


def test_why_mla_is_slower_is_said_where_it_is_so() -> None:
    """That MLA reads less and multiplies more is said only of sizes of which it holds."""
    measured = decode_steps.Measured((decode_steps.Ratio(1.0, 1.0, 1.0),) * 3, 9, 1)
    for arguments, said in (
        ({}, True),
        ({"num_heads": 1}, False),
        ({"kv_rank": 20, "rope_dim": 2}, False),
    ):
        configuration = attention_costs.configure(**{"d_model": 96, "num_heads": 3, **arguments})
        text = display.as_text(
            configuration,
            None,
            attention_costs.costs(configuration),
            measured,
            width=300,
            unicode=True,
            colour=False,
        )
        assert ("multiplies more" in text) == said


def test_what_is_too_large_to_measure_is_refused_before_it_is_made() -> None:
    """Just up to the bound is taken; a byte more is refused with both numbers. Layers do not count: one is measured."""
    configuration = attention_costs.configure(d_model=64, num_heads=4, num_layers=1000)
    row = attention_costs.Cost("MHA", 4, 0, 1000 * attention_costs.MOST_MEASURED_BYTES, 0, 100)
    attention_costs.check_measurable(configuration, [row])
    with pytest.raises(DrillError, match=r"would need 4\.5 GiB .* 4 GiB at most"):
        attention_costs.check_measurable(
            configuration, [row, dataclasses.replace(row, cache_bytes=1000 << 29)]
        )
    with pytest.raises(DrillError, match="4 GiB at most"):
        attention_costs.check_measurable(configuration, [dataclasses.replace(row, parameters=250)])


SIZES = decode_steps.Sizes(
    batch=3,
    seq_len=7,
    d_model=20,
    num_heads=6,
    head_dim=5,
    kv_rank=11,
    rope_dim=4,
    q_rank=9,
    dtype="float64",
)


def tensors(layer: decode_steps.GroupedLayer | decode_steps.LatentLayer) -> list[torch.Tensor]:
    """A layer's weights and cache."""
    return [one for one in vars(layer).values() if isinstance(one, torch.Tensor)]


@pytest.mark.parametrize("q_rank", [9, None])
def test_layers_are_as_large_as_the_table_says(q_rank: int | None) -> None:
    """Weights and cache of one layer have as many numbers as the table counts, so that the bound on memory holds."""
    configuration = attention_costs.configure(
        None,
        "float64",
        d_model=20,
        num_heads=6,
        num_kv_heads=3,
        head_dim=5,
        seq_len=7,
        batch=3,
        kv_rank=11,
        rope_dim=4,
        q_rank=q_rank,
    )
    sizes = dataclasses.replace(SIZES, q_rank=q_rank)
    generator = torch.Generator()
    for row in attention_costs.costs(configuration):
        layer = (
            decode_steps.latent_layer(sizes, generator)
            if row.num_kv_heads is None
            else decode_steps.grouped_layer(sizes, row.num_kv_heads, generator)
        )
        assert sum(one.numel() for one in tensors(layer)) == row.parameters + row.cache_bytes // 8
        assert {one.dtype for one in tensors(layer)} == {torch.float64}


@pytest.mark.parametrize("num_kv_heads", [6, 3, 2, 1])
def test_a_grouped_step_is_the_references_last_row(num_kv_heads: int) -> None:
    """MHA, GQA and MQA: a step on the cache of the earlier tokens gives what the reference, which expands, gives for the last of all."""
    sizes = dataclasses.replace(SIZES, d_model=30)
    layer = decode_steps.grouped_layer(sizes, num_kv_heads, torch.Generator().manual_seed(1))
    whole = reference("gqa")["GroupedQueryAttention"](30, 6, num_kv_heads, bias=False).double()
    whole.load_state_dict(
        {
            f"{name}.weight": getattr(layer, name)
            for name in ("q_proj", "k_proj", "v_proj", "o_proj")
        }
    )
    x = torch.randn(3, 7, 30, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        expected = whole(x, torch.ones(7, 7, dtype=torch.bool).tril())[:, -1]
        keys, values = (
            one(x).view(3, 7, num_kv_heads, 5).transpose(1, 2)
            for one in (whole.k_proj, whole.v_proj)
        )
        layer.keys[:, :, :-1] = keys[:, :, :-1]
        layer.values[:, :, :-1] = values[:, :, :-1]
        torch.testing.assert_close(decode_steps.grouped_step(layer, x[:, -1]), expected)
    torch.testing.assert_close(layer.keys, keys)
    torch.testing.assert_close(layer.values, values)


def latent_reference(layer: decode_steps.LatentLayer) -> torch.nn.Module:
    """The reference module with a layer's weights."""
    whole: torch.nn.Module = reference("mla")["MultiHeadLatentAttention"](
        20, 6, 9, 11, 5, 4, 5
    ).double()
    whole.load_state_dict(
        {
            f"{name}.weight": getattr(layer, name)
            for name in ("q_down", "q_up", "q_rope", "kv_down", "k_rope", "k_up", "v_up", "o_proj")
        }
    )
    return whole


def test_an_absorbed_step_is_the_references_last_row() -> None:
    """MLA: absorbed, on the cache of latents, gives what the reference gives, which makes every head's keys and values (all positions 0: no rotation)."""
    layer = decode_steps.latent_layer(SIZES, torch.Generator().manual_seed(1))
    whole = latent_reference(layer)
    x = torch.randn(3, 7, 20, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        expected = whole(
            x, torch.ones(7, 7, dtype=torch.bool).tril(), torch.zeros(3, 7, dtype=torch.int64)
        )[:, -1]
        latents, rotary_keys = whole.kv_down(x), whole.k_rope(x)
        layer.latents[:, :-1] = latents[:, :-1]
        layer.rotary_keys[:, :-1] = rotary_keys[:, :-1]
        torch.testing.assert_close(decode_steps.latent_step(layer, x[:, -1]), expected)
    torch.testing.assert_close(layer.latents, latents)
    torch.testing.assert_close(layer.rotary_keys, rotary_keys)


def test_a_step_without_a_low_rank_query() -> None:
    """MLA whose query is projected at once gives what a low-rank pair whose product is that projection gives."""
    pair = decode_steps.latent_layer(SIZES, torch.Generator().manual_seed(1))
    assert pair.q_down is not None
    whole = dataclasses.replace(
        pair, q_down=None, q_up=pair.q_up @ pair.q_down, q_rope=pair.q_rope @ pair.q_down
    )
    token = torch.randn(3, 20, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    torch.testing.assert_close(
        decode_steps.latent_step(whole, token), decode_steps.latent_step(pair, token)
    )


class LargestMade(TorchDispatchMode):
    """The largest tensor that an operation makes in memory of its own."""

    numel = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation, and note its output unless it lies in the memory of an argument."""
        out = func(*args, **(kwargs or {}))
        given = {one.untyped_storage().data_ptr() for one in args if isinstance(one, torch.Tensor)}
        if isinstance(out, torch.Tensor) and out.untyped_storage().data_ptr() not in given:
            self.numel = max(self.numel, out.numel())
        return out


WIDE = dataclasses.replace(SIZES, seq_len=101, head_dim=40, kv_rank=30, dtype="float32")


def test_no_step_copies_or_expands_its_cache() -> None:
    """Nothing that a step makes is as large as its cache; an expanded cache is seen to be."""
    generator = torch.Generator().manual_seed(1)
    token = torch.randn(3, 20, generator=generator)
    steps: list[tuple[int, Callable[[], object]]] = []
    for number in (6, 3, 1):
        grouped = decode_steps.grouped_layer(WIDE, number, generator)
        steps.append(
            (grouped.keys.numel(), functools.partial(decode_steps.grouped_step, grouped, token))
        )
    latent = decode_steps.latent_layer(WIDE, generator)
    steps.append(
        (latent.latents.numel(), functools.partial(decode_steps.latent_step, latent, token))
    )
    for cache, step in steps:
        with LargestMade() as made:
            step()
        assert 0 < made.numel < cache
    with LargestMade() as made:
        grouped.keys.repeat_interleave(6, dim=1)
    assert made.numel >= 6 * grouped.keys.numel()


@pytest.mark.parametrize("dtype", attention_costs.MEASURABLE)
def test_every_dtype_can_be_measured(dtype: str) -> None:
    """A step of each variant gives finite numbers of the dtype that was asked for."""
    sizes = dataclasses.replace(SIZES, dtype=dtype)
    generator = torch.Generator().manual_seed(3)
    token = decode_steps.noise((3, 20), 1.0, dtype, generator)
    for out in (
        decode_steps.grouped_step(decode_steps.grouped_layer(sizes, 2, generator), token),
        decode_steps.latent_step(decode_steps.latent_layer(sizes, generator), token),
    ):
        assert out.shape == (3, 20)
        assert out.dtype == getattr(torch, dtype)
        assert out.isfinite().all()


def test_noise_of_any_length() -> None:
    """Short or longer than what is drawn: the shape that was asked for, normal numbers, no part left out."""
    generator = torch.Generator().manual_seed(3)
    for shape in ((5, 7), (3, 1 << 20), (4, 0)):
        made = decode_steps.noise(shape, 0.5, "float32", generator)
        assert made.shape == shape
        assert made.is_contiguous()
    large = decode_steps.noise((3, 1 << 20), 0.5, "float32", generator)
    assert ((large.std(dim=1) - 0.5).abs() < 0.01).all()


def test_steps_take_turns_and_are_divided_by_the_first() -> None:
    """Every round runs each step once, in order; ratios are taken within a round, so that a slow round changes none of them."""
    now, calls = [0.0], []

    def step(name: str, cost: float) -> Callable[[], None]:
        def run() -> None:
            calls.append(name)
            busy = (
                5 if (len(calls) - 1) // 3 % 3 == 0 else 1
            )  # every third round, with all that is in it, takes five times as long
            now[0] += cost * busy

        return run

    steps = [step("first", 8.0), step("half", 4.0), step("twice", 16.0)]
    ratios, rounds = decode_steps.side_by_side(steps, seconds=0.0, clock=lambda: now[0])
    assert rounds == 9
    assert calls == ["first", "half", "twice"] * (9 + 2)
    assert ratios == [decode_steps.Ratio(one, one, one) for one in (1.0, 0.5, 2.0)]


def test_the_quartiles_of_what_varies() -> None:
    """A step that takes 1 to 9 parts of the first has the median 5 and the quartiles 3 and 7."""
    now = [0.0]
    costs_of_rounds = iter([1, 1, 7, 1, 9, 3, 5, 2, 8, 4, 6])

    def first() -> None:
        now[0] += 1

    def varying() -> None:
        now[0] += next(costs_of_rounds)

    ratios, _ = decode_steps.side_by_side([first, varying], seconds=0.0, clock=lambda: now[0])
    assert ratios[1] == decode_steps.Ratio(5.0, 3.0, 7.0)


def test_rounds_follow_the_time_there_is() -> None:
    """As many rounds as fit into the seconds, within bounds."""
    now = [0.0]

    def step() -> None:
        now[0] += 0.05

    assert decode_steps.side_by_side([step, step], seconds=3.0, clock=lambda: now[0])[1] in (29, 30)
    assert decode_steps.side_by_side([step, step], seconds=1e9, clock=lambda: now[0])[1] == 301
    assert decode_steps.side_by_side([step, step], seconds=1e-9, clock=lambda: now[0])[1] == 9
