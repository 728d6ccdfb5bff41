"""Tests of file names from learning management systems: students, dates, and guessed users."""

from datetime import datetime
from pathlib import Path

import pytest

from tests.support.collect import ONE, Files, named_files, write_files, write_zip
from trainer.classroom.collect import collect
from trainer.classroom.lms_names import read_names

DAY = "2026-11-20-10-11-12"

# Names that eve gave her files so that they look like files of bob. Each id is "form of the name
# that eve chose in the form of the system that received the file".
FORGED = [
    pytest.param(
        named_files(
            f"hw_eve_attempt_{DAY}_x_bob_attempt_{DAY}_gqa.py", f"hw_bob_attempt_{DAY}_gqa.py"
        ),
        {
            "bob": f"hw_bob_attempt_{DAY}_gqa.py",
            "eve": f"hw_eve_attempt_{DAY}_x_bob_attempt_{DAY}_gqa.py",
        },
        id="Blackboard in Blackboard",
    ),
    pytest.param(
        named_files(
            f"hw_eve_attempt_{DAY}_hw_bob_attempt_2026-11-19-00-00-00_gqa.py",
            f"hw_yan_attempt_{DAY}_gqa.py",
        ),
        {
            "eve": f"hw_eve_attempt_{DAY}_hw_bob_attempt_2026-11-19-00-00-00_gqa.py",
            "yan": f"hw_yan_attempt_{DAY}_gqa.py",
        },
        id="Blackboard in Blackboard, an earlier date",
    ),
    pytest.param(
        named_files(
            f"hw_eve_attempt_{DAY}_Bob_7_assignsubmission_file_gqa.py",
            f"hw_bob_attempt_{DAY}_gqa.py",
        ),
        {
            "bob": f"hw_bob_attempt_{DAY}_gqa.py",
            "eve": f"hw_eve_attempt_{DAY}_Bob_7_assignsubmission_file_gqa.py",
        },
        id="Moodle in Blackboard",
    ),
    pytest.param(
        named_files(f"hw_eve_attempt_{DAY}_bob_1_2_gqa.py", f"hw_bob_attempt_{DAY}_gqa.py"),
        {"bob": f"hw_bob_attempt_{DAY}_gqa.py", "eve": f"hw_eve_attempt_{DAY}_bob_1_2_gqa.py"},
        id="Canvas in Blackboard",
    ),
    pytest.param(
        named_files(f"eve_11_12_hw_bob_attempt_{DAY}_gqa.py", "bob_13_14_gqa.py"),
        {"bob": "bob_13_14_gqa.py", "eve": f"eve_11_12_hw_bob_attempt_{DAY}_gqa.py"},
        id="Blackboard in Canvas",
    ),
    pytest.param(
        named_files(
            f"eve_11_12_hw_bob_attempt_{DAY}_gqa.py", f"eve_11_13_hw_bob_attempt_{DAY}.txt"
        ),
        {"eve": f"eve_11_12_hw_bob_attempt_{DAY}_gqa.py"},
        id="Blackboard with a receipt in Canvas",
    ),
    pytest.param(
        named_files(
            "eve_11_12_assignsubmission_file_gqa.py",
            "eve_LATE_11_12_Bob_7_assignsubmission_file_a.py",
            "bob_13_14_gqa.py",
        ),
        {"bob": "bob_13_14_gqa.py", "eve": "eve_11_12_assignsubmission_file_gqa.py"},
        id="Moodle in Canvas",
    ),
    pytest.param(
        named_files("eve_11_12_bob_13_14_gqa.py", "bob_13_14_gqa.py"),
        {"bob": "bob_13_14_gqa.py", "eve": "eve_11_12_bob_13_14_gqa.py"},
        id="Canvas in Canvas",
    ),
    pytest.param(
        named_files(
            "Eve_6_assignsubmission_file_Bob_7_assignsubmission_file_gqa.py",
            "Bob_7_assignsubmission_file_gqa.py",
        ),
        {
            "Bob": "Bob_7_assignsubmission_file_gqa.py",
            "Eve": "Eve_6_assignsubmission_file_Bob_7_assignsubmission_file_gqa.py",
        },
        id="Moodle in Moodle",
    ),
    pytest.param(
        named_files(
            f"Eve_6_assignsubmission_file_hw_bob_attempt_{DAY}_gqa.py",
            "Bob_7_assignsubmission_file_gqa.py",
        ),
        {
            "Bob": "Bob_7_assignsubmission_file_gqa.py",
            "Eve": f"Eve_6_assignsubmission_file_hw_bob_attempt_{DAY}_gqa.py",
        },
        id="Blackboard in Moodle",
    ),
    pytest.param(
        named_files(
            "Eve_6_assignsubmission_file_bob_1_2_gqa.py", "Bob_7_assignsubmission_file_gqa.py"
        ),
        {
            "Bob": "Bob_7_assignsubmission_file_gqa.py",
            "Eve": "Eve_6_assignsubmission_file_bob_1_2_gqa.py",
        },
        id="Canvas in Moodle",
    ),
]


@pytest.mark.parametrize("form", ["folder", "zip"])
@pytest.mark.parametrize(("files", "expected"), FORGED)
def test_no_student_is_graded_as_another(
    form: str, files: Files, expected: dict[str, str], tmp_path: Path
) -> None:
    """Only the part of a name that the system wrote decides who the student is."""
    path = (
        write_files(tmp_path / "in", files)
        if form == "folder"
        else write_zip(tmp_path / "in.zip", files)
    )
    submissions = collect(path, ONE).submissions
    assert {submission.student: submission.file for submission in submissions} == expected
    assert not any("None of them" in submission.trouble for submission in submissions)


def test_date_in_the_students_own_file_name_does_not_count(tmp_path: Path) -> None:
    """The system's date decides if a submission is late."""
    files = named_files(f"hw_eve_attempt_{DAY}_hw_eve_attempt_2026-01-01-00-00-00_gqa.py")
    (submission,) = collect(write_files(tmp_path / "in", files), ONE).submissions
    assert submission.submitted == datetime(2026, 11, 20, 10, 11, 12).timestamp()


def receipt(head: str, user: str, name: str = "Some Body") -> dict[str, str]:
    """Return a file from Blackboard and its receipt.

    Args:
        head: the `<assignment>_<user>` of the file names.
        user: the user in the receipt.
        name: the name of the student in the receipt.
    """
    text = (
        f"Name: {name} ({user})\r\nAssignment: x\r\nDate Submitted: y\r\n\r\n"
        "Submission Field:\r\nName: Bob (bob)\r\n"
    )
    return {
        f"{head}_attempt_{DAY}_gqa.py": f"# {head}\n",
        f"{head}_attempt_{DAY}.txt": text,
    }


def bare(*heads: str) -> dict[str, str]:
    """Return files from Blackboard without receipts."""
    return named_files(*(f"{head}_attempt_{DAY}_gqa.py" for head in heads))


USERS = [
    pytest.param(
        bare("Homework 1_jane_doe", "Homework 1_john_roe"),
        {"jane_doe", "john_roe"},
        False,
        id="users share letters",
    ),
    pytest.param(
        bare("hw_jane_doe", "hw_ana"), {"jane_doe", "ana"}, False, id="some users have underscores"
    ),
    pytest.param(
        bare("HW_3_ana", "HW_3_bob_lee"),
        {"ana", "bob_lee"},
        True,
        id="the assignment has underscores",
    ),
    pytest.param(
        bare("hw_a", "hw_a_b"), {"a", "a_b"}, False, id="a user is the beginning of another"
    ),
    pytest.param(bare("hw_a_", "hw_a_b"), {"a_", "a_b"}, False, id="a user ends in an underscore"),
    pytest.param(bare("hw_ana"), {"ana"}, False, id="a single user"),
    pytest.param(bare("hw_jane_doe"), {"jane_doe"}, True, id="a single user, with underscores"),
    pytest.param(
        bare("gqa_jane_doe"), {"jane_doe"}, False, id="a single user, the challenge's name"
    ),
    pytest.param(
        bare("Grouped-query attention_jane_doe"),
        {"jane_doe"},
        False,
        id="a single user, the challenge's title",
    ),
    pytest.param(bare("hw1_jane_doe", "hw2_ana"), {"jane_doe", "ana"}, True, id="two assignments"),
    pytest.param(bare("ana"), {"ana"}, False, id="no assignment"),
    pytest.param(bare("_ana", "hw_"), {"ana", "hw_"}, False, id="underscores at the ends"),
    pytest.param(
        bare("Lab_3_1_bob", "Lab_3_1_ana"),
        {"bob", "ana"},
        True,
        id="an assignment like Canvas's numbers",
    ),
    pytest.param(
        bare("hw_bob_1_2", "hw_ana"), {"bob_1_2", "ana"}, False, id="a user like Canvas's numbers"
    ),
    pytest.param(receipt("HW_3_1_jane_doe", "jane_doe"), {"jane_doe"}, False, id="a receipt"),
    pytest.param(
        receipt("HW_3_jane_doe", "jane_doe") | bare("HW_3_van_dam"),
        {"jane_doe", "van_dam"},
        False,
        id="a receipt of another",
    ),
    pytest.param(
        receipt("hw_van_dam", "van_dam") | bare("hw_van_berg"),
        {"van_dam", "van_berg"},
        False,
        id="all users share a part",
    ),
    pytest.param(
        receipt("hw_eve", "eve", "Eve (bob)") | receipt("hw_bob", "bob"),
        {"eve", "bob"},
        False,
        id="a name with another user in brackets",
    ),
    pytest.param(
        receipt("hw_van_eve", "bob") | bare("hw_bob"),
        {"van_eve", "bob"},
        False,
        id="a receipt with another user",
    ),
    pytest.param(
        {**bare("hw_jane_doe"), f"hw_jane_doe_attempt_{DAY}.txt": b"\xff("},
        {"jane_doe"},
        True,
        id="a receipt that cannot be read",
    ),
]


@pytest.mark.parametrize("form", ["folder", "zip"])
@pytest.mark.parametrize(("files", "users", "guessed"), USERS)
def test_user_names_with_underscores_are_not_cut(
    form: str, files: Files, users: set[str], guessed: bool, tmp_path: Path
) -> None:
    """If a user is a guess, there is a note."""
    path = (
        write_files(tmp_path / "in", files)
        if form == "folder"
        else write_zip(tmp_path / "in.zip", files)
    )
    got = collect(path, ONE)
    assert {submission.student for submission in got.submissions} == users
    assert all(submission.source for submission in got.submissions)
    assert bool(got.notes) == guessed


def test_note_lists_guessed_users(tmp_path: Path) -> None:
    """The note lists three of many guesses, and gives the next step."""
    heads = [f"HW_3_s{index}" for index in range(5)]
    got = collect(write_files(tmp_path / "in", bare(*heads)), ONE)
    assert [submission.student for submission in got.submissions] == ["s0", "s1", "s2", "s3", "s4"]
    (note,) = got.notes
    assert "Guessed: s0 from HW_3_s0, s1 from HW_3_s1, s2 from HW_3_s2 and 2 more." in note
    assert note.endswith("If a guess is wrong, put Blackboard's .txt receipts next to the files.")


def test_a_long_file_with_the_name_of_a_receipt_takes_no_time() -> None:
    """A student of another system may hand in any text under this name."""
    name = "q_attempt_2026-01-01-01-01-01.txt"
    text = " " * 1_000_000
    found = read_names([(name, False)], receipts={name: text})
    assert found.by_name[name, False].student == "q"
