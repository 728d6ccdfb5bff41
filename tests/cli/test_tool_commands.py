"""The commands `compare`, `heads`, `doctor`, `trace` and `repro`."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from attn_drill.packs import pack_reader
from attn_drill.report.tools_text import heads_as_object
from tests.support.cli import BUILT_IN, drill
from tests.support.packs import install_pack, make_pack
from tests.support.tools import facts, random_weights

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


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """Save weights of 2 layers of 7 heads in bfloat16, and return their folder."""
    save_file({"attn": random_weights(2, 7).to(torch.bfloat16)}, tmp_path / "w.safetensors")
    return tmp_path


def test_heads_are_shown_at_every_width(saved: Path) -> None:
    """A pipe gets no colour. `--head` shows a single head."""
    for columns in (80, 50):
        lines = drill("heads", "w.safetensors", cwd=saved, COLUMNS=str(columns)).stdout.splitlines()
        assert lines[0].startswith("w.safetensors  14 heads  L=7")
        assert max(map(len, lines)) <= columns
        assert "2 more heads" in " ".join(lines)
        assert "\x1b" not in "".join(lines)
    alone = drill("heads", "w.safetensors", "--head", "13", cwd=saved).stdout
    assert "head 13 [1, 6]" in alone
    assert alone.count("┌") == 1


def test_heads_are_shown_in_ascii(saved: Path) -> None:
    """No character is lost and replaced by `?`."""
    text = drill("heads", "w.safetensors", cwd=saved, PYTHONIOENCODING="ascii").stdout
    assert text.isascii()
    assert "?" not in text
    assert "#" in text


def test_json_has_all_heads(saved: Path) -> None:
    """The values are those of the facts."""
    printed = json.loads(
        drill("heads", "w.safetensors", "--name", "attn", "--json", cwd=saved).stdout
    )
    heads = facts(random_weights(2, 7).to(torch.bfloat16), "attn")
    assert (printed["schema"], printed["file"]) == ("attn-drill.heads/1", "w.safetensors")
    assert printed["heads"] == heads_as_object(heads, "")["heads"]
    assert len(printed["heads"]) == 14
    assert printed["heads"][13] | {"entropy": 0, "entropy_share": 0, "distance": 0} == {
        "number": 13,
        "tensor": "attn",
        "index": [1, 6],
        "length": 7,
        "entropy": 0,
        "entropy_share": 0,
        "distance": 0,
        "class": heads[13].kind,
        "notes": [],
    }


def test_html_page_has_all_heads(saved: Path) -> None:
    """The file is named on stdout. With `--json`, stdout has only the object."""
    done = drill("heads", "w.safetensors", "--html", "out.html", cwd=saved)
    assert done.stdout == "out.html is written, with pictures of 14 of 14 heads.\n"
    assert (saved / "out.html").read_text().count("<figure ") == 14
    again = drill(
        "heads", "w.safetensors", "--html", "one.html", "--head", "3", "--json", cwd=saved
    )
    assert [head["number"] for head in json.loads(again.stdout)["heads"]] == [3]
    assert (saved / "one.html").read_text().count("<figure ") == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere.npy"], "nowhere.npy cannot be read as"),
        (["w.safetensors", "--head", "14"], "--head is 14; w.safetensors has heads 0 to 13"),
        (["w.safetensors", "--head", "-1"], "--head is -1"),
        (["w.safetensors", "--name", "attm"], "no tensor 'attm'; it has attn"),
        (["w.safetensors", "--html", "w.safetensors"], "must end in .html"),
        (["w.safetensors", "--html", "nowhere/out.html"], "nowhere/out.html cannot be written"),
    ],
)
def test_usage_errors_exit_with_2(saved: Path, arguments: list[str], says: str) -> None:
    """The message is one line on stderr, and stdout is empty."""
    done = drill("heads", *arguments, cwd=saved, code=2)
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


def test_doctor_shows_versions_and_isolation(tmp_path: Path) -> None:
    """The output has a line for each attempt to break out of the sandbox."""
    text = drill("doctor", cwd=tmp_path).stdout
    assert re.search(r"torch +2\.13\.0\S* \(tested with 2\.13\.0;", text)
    assert re.search(r"(held|OPEN) +open a network socket", text)
    report = json.loads(drill("doctor", "--json", cwd=tmp_path).stdout)
    assert report["packages"]["torch"].startswith("2.13.0")
    assert report["settings"]["level"] == {"value": "standard", "from": "default"}
    assert report["isolation"]["open a network socket"] in ("held", "OPEN")


def test_doctor_shows_the_settings_and_where_they_come_from(tmp_path: Path, home: Path) -> None:
    """A mistake in the file is one sentence in their place."""
    home.mkdir()
    (home / "config.toml").write_text('level = "blank"\nlanguage = "en"\nhints_first = false\n')
    text = drill("doctor", cwd=tmp_path, ATTN_DRILL_LANG="zh").stdout
    assert f"config.toml {home / 'config.toml'}\n" in text
    for row in (
        ("language", "zh", "(ATTN_DRILL_LANG)"),
        ("theme", "-", "(default)"),
        ("level", "blank", "(config.toml)"),
        ("hints_first", "False", "(config.toml)"),
    ):
        assert row in [tuple(line.split()) for line in text.splitlines()]
    (home / "config.toml").write_text("levle = 1\n")
    says = "config.toml, line 1: `levle` is not a key here. Did you mean `level`?"
    shown = drill("doctor", cwd=tmp_path).stdout
    assert f"settings    {home}/{says}" in shown
    assert "isolation   " in shown
    (home / "config.toml").write_text('packs = ["nowhere"]\n')
    report = json.loads(drill("doctor", "--json", cwd=tmp_path).stdout)
    assert "config.toml names nowhere" in report["settings"]
    assert list(report["packs"]) == [str(BUILT_IN)]


def test_doctor_counts_the_challenges_of_every_pack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each pack has a line with its number of challenges; a hidden challenge is reported."""
    site = tmp_path / "site"
    site.mkdir()
    make_pack(site / "counted_pack", "gqa", "extra", "more")
    install_pack(site, "counted", "[attn_drill.packs]\ncounted = counted_pack\n")
    monkeypatch.syspath_prepend(site)
    done = drill("doctor", cwd=tmp_path)
    count = len(pack_reader.read_pack(BUILT_IN))
    shown = " ".join(done.stdout.split())
    assert f"{BUILT_IN} {count} challenges (attn-drill, built in)" in shown
    assert f"{site / 'counted_pack'} 2 challenges (counted, installed)" in shown
    assert f"{site / 'counted_pack/challenges/gqa'} is hidden" in done.stderr


# A challenge that is graded three times as fast as gqa.
NORM = pack_reader.solution(pack_reader.find_challenge(BUILT_IN, "rmsnorm"))


def test_trace_names_the_equal_result_of_the_reference(tiled: Path) -> None:
    """The first wrong line has a marker. The reference's code is not shown."""
    shown = drill("trace", "gqa", "gqa.py", "--seed", "3", "--case", "1", cwd=tiled).stdout
    assert re.search(r"q = self\.q_proj.*\n +  = q  \[B=2, L=5, H=6, D=7\] float32 ", shown)
    assert re.search(r"v = v\.repeat_interleave.*\n +  = v  ", shown)
    assert not re.search(r"k = k\.repeat\(1.*\n.*= k", shown)
    assert len(re.findall(r"^> \d+  k = k\.repeat\(1", shown, re.MULTILINE)) == 1
    assert "k.repeat_interleave" not in shown
    command = ("trace", "gqa", "gqa.py", "--seed", "3", "--case", "1", "--json")
    traced = json.loads(drill(*command, cwd=tiled).stdout)
    assert (traced["number"], traced["seed"], traced["failure"]) == (1, 3, "")
    assert {"line", "text", "shape"} <= traced["rows"][0].keys()


@pytest.mark.thorough
def test_trace_takes_the_failing_case_of_the_last_attempt(tmp_path: Path) -> None:
    """The seed is that of the last attempt."""
    (tmp_path / "rmsnorm.py").write_text(NORM.replace(".mean(", ".sum("))
    command = ("check", "rmsnorm", "rmsnorm.py", "--json")
    report = json.loads(drill(*command, cwd=tmp_path, code=1).stdout)
    failed = next(check for check in report["checks"] if check["status"] == "failed")
    shown = drill("trace", "rmsnorm", "rmsnorm.py", cwd=tmp_path).stdout
    assert shown.startswith(f"case {failed['case_number']}:")
    assert f"seed {report['seed']}" in " ".join(shown.split())


@pytest.mark.thorough
def test_trace_of_an_exception_ends_with_it(tmp_path: Path) -> None:
    """The lines before the exception are shown."""
    (tmp_path / "rmsnorm.py").write_text(NORM.replace("torch.rsqrt(", "wide.mT @ torch.rsqrt("))
    command = ("trace", "rmsnorm", "rmsnorm.py", "--seed", "3", "--case", "1")
    shown = drill(*command, cwd=tmp_path).stdout
    assert "RuntimeError" in shown
    assert "mean_square = wide.square()" in shown


@pytest.fixture
def solved(tmp_path: Path) -> Path:
    """Return a folder with a right rmsnorm.py."""
    (tmp_path / "rmsnorm.py").write_text(NORM)
    return tmp_path


def run(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the script."""
    return subprocess.run(
        [sys.executable, "rmsnorm_repro.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.thorough
def test_script_shows_the_difference(solved: Path) -> None:
    """The script fails like the check. A file that `repro` did not write is never overwritten."""
    (solved / "rmsnorm.py").write_text(NORM.replace(".mean(", ".sum("))
    report = json.loads(
        drill("check", "rmsnorm", "rmsnorm.py", "--seed", "3", "--json", cwd=solved, code=1).stdout
    )
    failed = next(check for check in report["checks"] if check["status"] == "failed")
    shown = drill("repro", "rmsnorm", "rmsnorm.py", "--seed", "3", cwd=solved).stdout
    assert f"Case {failed['case_number']} with seed 3" in shown
    done = run(solved)
    assert done.returncode == 1
    mismatch = failed["mismatch"]
    assert f"Mismatched elements: {mismatch['mismatched']} / {mismatch['total']}" in done.stderr
    (solved / "rmsnorm_repro.py").write_text("mine = 1\n")
    refused = drill("repro", "rmsnorm", "rmsnorm.py", "--seed", "3", cwd=solved, code=2)
    assert "Move it away first" in refused.stderr
    assert (solved / "rmsnorm_repro.py").read_text() == "mine = 1\n"


@pytest.mark.resembling
def test_script_of_a_right_case_passes(solved: Path) -> None:
    """A case that is named with --case is written."""
    drill("repro", "rmsnorm", "rmsnorm.py", "--seed", "3", "--case", "10", cwd=solved)
    assert run(solved).returncode == 0
