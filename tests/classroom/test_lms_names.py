"""Tests of file names from learning management systems."""

from datetime import datetime

import pytest

from attn_drill.classroom.collect import LmsName, blackboard_user, read_name, system_of_names
from attn_drill.classroom.records import System

DAY = "2026-11-20-10-11-12"
BLACKBOARD = f"hw_eve_attempt_{DAY}"


@pytest.mark.parametrize(
    ("system", "name", "is_folder", "expected"),
    [
        (
            "canvas",
            "leeana_LATE_101_555_gqa-1.py",
            False,
            LmsName("canvas", "leeana", "101", "gqa-1.py", "", 555, is_marked_late=True),
        ),
        ("canvas", "a_1_2_b_3_4_x.py", False, LmsName("canvas", "a", "1", "b_3_4_x.py", upload=2)),
        ("canvas", "leeana_101_555_hw", True, None),
        ("canvas", "notes.pdf", False, None),
        ("moodle", "A_B_7_assignsubmission_file", True, LmsName("moodle", "A_B", "7", "")),
        (
            "moodle",
            "A B_7_assignsubmission_file_x.py",
            False,
            LmsName("moodle", "A B", "7", "x.py"),
        ),
        ("gradescope", "leeana_101_555_gqa.py", False, None),
        (
            "blackboard",
            f"{BLACKBOARD}_x_bob_attempt_{DAY}_gqa.py",
            False,
            LmsName("blackboard", "hw_eve", "", f"x_bob_attempt_{DAY}_gqa.py", DAY),
        ),
        (
            "blackboard",
            f"{BLACKBOARD}.txt",
            False,
            LmsName("blackboard", "hw_eve", "", "", DAY),
        ),
        ("", "leeana_101_555_gqa.py", False, None),
    ],
)
def test_name_of_a_system_is_read(
    system: System, name: str, is_folder: bool, expected: LmsName | None
) -> None:
    """The first mark counts: the student chose the text after it."""
    assert read_name(name, is_folder, system) == expected


@pytest.mark.parametrize(
    ("names", "system"),
    [
        (["li_1_2_a.py", "bo_3_4_b.py", "notes.pdf"], "canvas"),
        (["A_1_assignsubmission_file_x.py", "B_2_assignsubmission_file_1_2_y.py"], "moodle"),
        ([f"Lab_3_1_{user}_attempt_{DAY}_x.py" for user in ("ana", "bo")], "blackboard"),
        ([f"eve_1_2_hw_bob_attempt_{DAY}_x.py", "bob_3_4_x.py"], "canvas"),
        (["ana.py", "bob.py", "plan_1_2_n.pdf"], ""),
        ([], ""),
    ],
)
def test_one_class_comes_from_one_system(names: list[str], system: System) -> None:
    """So eve cannot write a name in the form of another system."""
    assert system_of_names([(name, False) for name in names]) == system


def test_time_of_an_attempt() -> None:
    """It is local time. There is none if it is not a date."""
    name = read_name(f"{BLACKBOARD}_x.py", False, "blackboard")
    assert name is not None
    assert name.submitted == datetime(2026, 11, 20, 10, 11, 12).timestamp()
    other = read_name(f"{BLACKBOARD.replace('11-20', '99-20')}_x.py", False, "blackboard")
    assert other is not None
    assert other.submitted is None


@pytest.mark.parametrize(
    ("head", "user"),
    [("HW_doe", "doe"), ("HW_ANA", "ana"), ("ana", "ana"), ("HW_bob", "bob"), ("HW_", "HW_")],
)
def test_user_of_blackboard_begins_after_the_assignment(head: str, user: str) -> None:
    """Capitals make no difference."""
    assert blackboard_user(head, ["doe", "jane_doe", "ana", ""]) == user
