"""Tests of the choice of the file that answers a challenge."""

import re
from pathlib import Path

import pytest

from attn_drill.classroom.collect import collect, collect_single
from attn_drill.model.challenge import Challenge
from tests.support.classroom import (
    CACHE,
    GQA,
    ONE,
    TWO,
    Files,
    check,
    named_files,
    notebook,
    outcomes,
    write_files,
    written,
    zipped,
)

DAY = "2026-11-20-10-11-12"
NEXT_DAY = "2026-11-21-10-11-12"
BROKEN = "class GroupedQueryAttention\n    pass\n"
UNREADABLE = "def (\n"
OTHER = "x = 1\n"
FITS_NONE = "does not define GroupedQueryAttention"


# The files of a class, and what becomes of each student: the path of the graded file, "missing",
# or `~` and a pattern for the reason why nothing is graded.
CLASSES = [
    pytest.param(
        named_files("ana.py", "bob.PY", "Cai Lu/x.py", "dan/p/q/x.py"),
        {"ana": "ana.py", "bob": "bob.PY", "Cai Lu": "Cai Lu/x.py", "dan": "dan/p/q/x.py"},
        id="files and folders",
    ),
    pytest.param(
        {"ana.ipynb": notebook(GQA), "bob/hw.ipynb": notebook("import torch", GQA)},
        {"ana": "ana.ipynb", "bob": "bob/hw.ipynb"},
        id="notebooks",
    ),
    pytest.param(
        named_files("leeana_101_7_gqa.py", "lee_LATE_102_8_x.py"),
        {"leeana": "leeana_101_7_gqa.py", "lee": "lee_LATE_102_8_x.py"},
        id="Canvas",
    ),
    pytest.param(
        named_files("li_1_7_gqa.py", "li_2_8_gqa.py"),
        {"li (1)": "li_1_7_gqa.py", "li (2)": "li_2_8_gqa.py"},
        id="Canvas, two students of one name",
    ),
    pytest.param(
        named_files("li_1_9_gqa.py", "li_1_10_gqa-1.py", "li_1_11_gqa-2.py"),
        {"li": "li_1_11_gqa-2.py"},
        id="Canvas, three uploads",
    ),
    pytest.param(
        {"li_1_9_hw.zip": zipped({"x.py": OTHER + GQA}), "li_1_10_hw-1.zip": zipped({"x.py": GQA})},
        {"li": "li_1_10_hw-1.zip/x.py"},
        id="Canvas, two uploads of a zip",
    ),
    pytest.param(
        {"li_1_9_gqa.py": "class GroupedQueryAttenton: ...", "li_1_10_other.py": OTHER},
        {"li": "li_1_9_gqa.py"},
        id="the name of the challenge, without its class",
    ),
    pytest.param(
        named_files("li_1_9_gqa.py", "li_1_10_other.py"),
        {"li": "li_1_9_gqa.py"},
        id="Canvas, the name of the challenge",
    ),
    pytest.param(
        named_files("A B_1_assignsubmission_file/x.py", "A B_2_assignsubmission_file_y.py"),
        {
            "A B (1)": "A B_1_assignsubmission_file/x.py",
            "A B (2)": "A B_2_assignsubmission_file_y.py",
        },
        id="Moodle",
    ),
    pytest.param(
        {
            **named_files(f"HW_ana_attempt_{DAY}_gqa.py", f"HW_ana_attempt_{NEXT_DAY}_x.py"),
            f"HW_ana_attempt_{NEXT_DAY}.txt": "Name: Ana Lee (ana)\n",
        },
        {"ana": f"HW_ana_attempt_{NEXT_DAY}_x.py"},
        id="Blackboard, two attempts",
    ),
    pytest.param(
        {f"HW_ana_attempt_{DAY}.txt": "Name: Ana Lee (ana)\nSubmission: my answer\n"},
        {"ana": "~Python file"},
        id="Blackboard, only a receipt",
    ),
    pytest.param(
        {
            **named_files(f"HW_eve_attempt_{DAY}_HW_bob_attempt_{NEXT_DAY}_gqa.py"),
            **named_files(f"HW_bob_attempt_{DAY}_bob_1_2_gqa.py"),
        },
        {
            "bob": f"HW_bob_attempt_{DAY}_bob_1_2_gqa.py",
            "eve": f"HW_eve_attempt_{DAY}_HW_bob_attempt_{NEXT_DAY}_gqa.py",
        },
        id="a file name that looks like somebody else's",
    ),
    pytest.param(
        {"ana/gqa.py": GQA, "ana/util.py": OTHER, "ana/test.py": "from gqa import *\n"},
        {"ana": "ana/gqa.py"},
        id="helpers next to the answer",
    ),
    pytest.param(
        {"ana/gqa.py": OTHER, "ana/final.py": GQA}, {"ana": "ana/final.py"}, id="a stub"
    ),
    pytest.param(
        {"ana/gqa.py": GQA, "ana/draft.py": GQA, "ana/gqa.ipynb": notebook(GQA)},
        {"ana": "ana/gqa.py"},
        id="the name of the challenge decides",
    ),
    pytest.param(
        {"ana/a.py": GQA, "ana/b.ipynb": notebook(GQA), "ana/old/c.py": GQA},
        {"ana": "ana/a.py"},
        id="Python first, and the top level first",
    ),
    pytest.param(
        {"ana/a.py": GQA, "ana/b.py": GQA + OTHER},
        {"ana": r"~2 answers to gqa: ana/a\.py, ana/b\.py\. Remove or rename all but one"},
        id="two answers",
    ),
    pytest.param(
        {"ana.py": GQA, "ana/gqa.py": GQA, "bob/a.py": GQA, "bob/b.py": GQA},
        {"ana": "ana/gqa.py", "bob": "bob/a.py"},
        id="one answer twice",
    ),
    pytest.param(
        named_files("ana.py", "ana/gqa.py"),
        {"ana": r"~2 answers to gqa: ana\.py, ana/gqa\.py"},
        id="a file and a folder of one name",
    ),
    pytest.param(
        named_files("Zoe\u0301.py", "ZO\u00c9/x.py"),
        {"Zoe\u0301": "~2 answers to gqa"},
        id="one name in two spellings",
    ),
    pytest.param({"ana.py": BROKEN}, {"ana": "ana.py"}, id="a syntax error"),
    pytest.param({"ana/gqa.py": UNREADABLE}, {"ana": "ana/gqa.py"}, id="broken, by its name"),
    pytest.param({"ana/x.py": UNREADABLE}, {"ana": "ana/x.py"}, id="broken, the only file"),
    pytest.param(
        {"ana/x.py": UNREADABLE, "ana/y.py": OTHER},
        {"ana": "~ana/x.py is not valid Python. Look at it, or ask for gqa.py"},
        id="broken, one of two files",
    ),
    pytest.param(
        {"ana.py": GQA.replace("tion", "ton")},
        {"ana": "~ana.py defines GroupedQueryAttenton, and not GroupedQueryAttention: correct"},
        id="a letter is missing",
    ),
    pytest.param(
        {"ana.ipynb": notebook("class GQA:\n    pass")},
        {"ana": f"~ana.ipynb {FITS_NONE}, only GQA. Look at"},
        id="another name in a notebook",
    ),
    pytest.param(
        {"ana/work.pdf": "x", "ana/a.txt": "x"},
        {"ana": "~ana/a.txt is neither a Python file nor a notebook. Look at it"},
        id="a PDF",
    ),
    pytest.param({"ana.py": ""}, {"ana": "~ana.py is empty"}, id="an empty file"),
    pytest.param({"ana.py": b"a\0"}, {"ana": "~holds a NUL byte"}, id="a NUL byte"),
    pytest.param({"ana.py": b"\xff"}, {"ana": "~is not UTF-8"}, id="not UTF-8"),
    pytest.param({"ana.py": "#" * 2_000_000}, {"ana": "~more than 1,048,576"}, id="too large"),
    pytest.param({"ana.ipynb": "{"}, {"ana": "~cannot be read as a notebook"}, id="no notebook"),
    pytest.param(
        {"ana.zip": zipped({"hw/gqa.py": GQA, "x.py": OTHER}), "bob/b.zip": zipped({"b.py": GQA})},
        {"ana": "ana.zip/hw/gqa.py", "bob": "bob/b.zip/b.py"},
        id="zips of students",
    ),
    pytest.param(
        {"li_1_7_hw.zip": zipped({"gqa.py": GQA}), "mo_2_8_hw.zip": zipped({"x.py": GQA})},
        {"li": "li_1_7_hw.zip/gqa.py", "mo": "mo_2_8_hw.zip/x.py"},
        id="zips of students from Canvas",
    ),
    pytest.param(
        {"ana.zip": zipped({"in.zip": zipped({"gqa.py": GQA})}), "bob.zip": "no zip"},
        {"ana": "~ana.zip/in.zip is neither a Python file nor", "bob": "~bob.zip cannot be read"},
        id="zips that are not read",
    ),
]  # fmt: skip


@pytest.mark.parametrize("form", ["folder", "zip"])
@pytest.mark.parametrize(("files", "expected"), CLASSES)
def test_answer_of_a_challenge_is_chosen(
    form: str, files: Files, expected: dict[str, str], tmp_path: Path
) -> None:
    """A folder and a zip of a class give the same submissions."""
    collected = outcomes(collect(written(tmp_path, form, {**files, **others(files)}), ONE))
    check(collected, expected)
    assert collected.keys() - expected.keys() <= {"yan", "zoe"}


def others(files: Files) -> Files:
    """Return files of two more students, from the same system."""
    form = next(
        (
            form
            for mark, form in (
                ("_attempt_", f"HW_{{}}_attempt_{DAY}_gqa.py"),
                ("_assignsubmission_", "{}_77_assignsubmission_file/gqa.py"),
                (r"_\d+_\d+_", "{}_77_88_gqa.py"),
                ("", "{}/gqa.py"),
            )
            if any(re.search(mark, name) for name in files)
        )
    )
    return {form.format(name): GQA for name in ("yan", "zoe")}


@pytest.mark.parametrize(
    ("files", "gqa", "cache"),
    [
        pytest.param(
            {"gqa.py": GQA, "kv-cache.py": CACHE}, "gqa.py", "kv-cache.py", id="a file for each"
        ),
        pytest.param({"a.py": CACHE, "b.py": GQA}, "b.py", "a.py", id="any names"),
        pytest.param({"hw3.py": GQA + CACHE}, "hw3.py", "hw3.py", id="one file"),
        pytest.param(
            {"hw.ipynb": notebook(CACHE, GQA)}, "hw.ipynb", "hw.ipynb", id="one notebook"
        ),
        pytest.param(
            {"hw.zip": zipped({"x.py": GQA + CACHE})}, "hw.zip/x.py", "hw.zip/x.py", id="a zip"
        ),
        pytest.param({"gqa.py": GQA}, "gqa.py", "missing", id="one answer"),
        pytest.param(
            {"gqa.py": GQA, "kv.pdf": "x"}, "gqa.py", "~kv.pdf is neither .* ask for kv_cache.py",
            id="one answer and a PDF",
        ),
        pytest.param(
            {"gqa.py": GQA, "kv.py": CACHE.replace("Multi", "Mutli")},
            "gqa.py",
            "~defines CachedMutliHeadAttention, and not CachedMultiHeadAttention",
            id="one answer and a near miss",
        ),
        pytest.param({"hw.py": UNREADABLE}, "hw.py", "hw.py", id="a broken file"),
        pytest.param(
            {"gqa.py": UNREADABLE, "kv_cache.py": UNREADABLE}, "gqa.py", "kv_cache.py", id="broken"
        ),
        pytest.param(
            {"gqa.py": GQA, "x.py": GQA + CACHE}, "gqa.py", "x.py", id="an answer twice"
        ),
        pytest.param({"a.txt": "x"}, "~a.txt is neither", "~a.txt is neither", id="no answer"),
    ],
)  # fmt: skip
def test_answers_of_two_challenges_are_chosen(
    files: Files, gqa: str, cache: str, tmp_path: Path
) -> None:
    """A file that fits no challenge may be the missing answer, so a person must look at it."""
    root = write_files(tmp_path / "in", {f"ana/{name}": text for name, text in files.items()})
    expected = {"ana: gqa": gqa, "ana: kv-cache": cache}
    check(
        {key: text.replace("ana/", "") for key, text in outcomes(collect(root, TWO)).items()},
        expected,
    )
    single = outcomes(collect_single(root / "ana", TWO))
    check(single, expected)


def test_number_in_the_name_of_a_challenge_is_not_an_upload_number(tmp_path: Path) -> None:
    """The files of the challenges step-1 and step-2 do not replace each other."""
    steps = [
        Challenge(**{**vars(ONE[0]), "id": f"step-{step}", "folder": Path(f"step_{step}")})
        for step in (1, 2)
    ]
    files = {"li_1_8_step-1.py": UNREADABLE, "li_1_9_step-2.py": UNREADABLE}
    assert outcomes(collect(write_files(tmp_path / "in", files), steps)) == {
        "li: step-1": "li_1_8_step-1.py",
        "li: step-2": "li_1_9_step-2.py",
    }


def test_nothing_is_lost(tmp_path: Path) -> None:
    """Files that are not graded are listed: alternatives, other files, and files of nobody."""
    files = {
        "ana/gqa.py": GQA,
        "ana/draft.py": GQA,
        "ana/notes.pdf": "x",
        "ana/util.py": OTHER,
        "bob.py": GQA,
        "Makefile": "x",
        "old/class.json": "{}",
        "old/results/a.json": "{}",
        ".hidden.py": GQA,
        "__MACOSX/ana/._gqa.py": GQA,
    }
    collected = collect(write_files(tmp_path / "in", files), ONE)
    assert collected.submissions[0].alternatives == ("ana/draft.py",)
    assert collected.ignored == [
        "Makefile",
        "ana/notes.pdf, ana/util.py",
        "old/ (results of an earlier run)",
    ]
    canvas = named_files("li_1_9_gqa.py", "li_1_10_gqa-1.py")
    collected = collect(write_files(tmp_path / "canvas", canvas), ONE)
    assert collected.ignored == ["li_1_9_gqa.py (an older upload)"]
