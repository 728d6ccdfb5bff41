"""Every test has a home of its own; the grader and its fork server are shared by the tests of one process."""

import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ["OMP_NUM_THREADS"] = "1"
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # So it is where a script has put these tests into the background; commands that are tested would inherit it, and Ctrl-C would end none.
    signal.signal(signal.SIGINT, signal.default_int_handler)

from trainer.grading.grader import Grader
from trainer.packs import pack_reader
from trainer.worker import counters, forbidden_ops, forkserver_client
from trainer.worker.forkserver_client import Limits

# A fork server of its own interpreter takes a second to import torch. Most tests do not ask what a fork server knows, and have it
# forked from their own process; tests/test_launch.py asks, and has real ones.
forkserver_client.start = forkserver_client.fork_here
forbidden_ops.prepare()  # for all fork servers that are forked from here
counters.controls_by_name()

# What takes long and has something quicker beside it that meets the same faults first; `python -m pytest -m ""` runs all.
THOROUGH = {
    # `pack check`, which CI runs after the tests, grades all these right answers and stubs, and every sixteenth mistake.
    "test_content": (
        "test_right_passes",
        "test_mistakes_are_refused_and_named",
        "test_stub_is_refused_and_is_the_interface",
    ),
    # A process a command; that one finds the pack is tested by CONTRIBUTING's own commands.
    "test_known_packs": (
        *(
            "test_every_light_command_finds_it",
            "test_help_names_the_option",
            "test_a_session_grades_from_any_pack",
        ),
    ),
    # Tables over all challenges, from which the thresholds were taken.
    "test_similarity": (
        "test_textbook_answers_are_not_reported",
        "test_ring_of_files_that_are_nearly_the_same",
    ),
    # All of torch's files and kernels: torch is pinned, and the routes are tried one by one beside it.
    "test_from_scratch": (
        "test_all_python_code_of_torch_that_computes_attention_is_known",
        "test_no_kernel_of_torchs_is_left",
    ),
    # CI runs the command on the whole pack.
    "test_cli": ("test_pack_check_of_one_challenge",),
    # `check` is searched in the same way.
    "test_launch": ("test_a_worker_knows_nothing[grade]",),
    "test_unfinished": ("test_known_mistakes_are_finished",),
    # An installation each; the editable one of the README is always made.
    "test_copies": (
        "test_no_walk_finds_a_reference_in_an_installation[wheel]",
        "test_doctor_names_the_copy",
    ),
    "test_scaffold": (
        "test_a_project_of_its_own",
        "test_pack_check_tells_strays",
        "test_a_pack_may_build_on_another",
    ),
}
# Tables of which every so many-th row is run unless all are asked for; every row is one of many of its kind.
SAMPLED = {
    "test_by_hand": 40,  # that mistakes are named and have their line; `pack check` has them named in their own patches
    "test_what_the_contract_calls_right_passes": 8,
    "test_a_right_mask_is_not_blamed": 4,
    "test_the_picture_has_the_keys_of_the_cache": 4,
    "test_every_stub_is_unfinished": 3,
    "test_task_is_one_key_away_after_a_verdict": 4,
    **dict.fromkeys(
        (
            "test_what_is_wrong_is_told",
            "test_keys_work_with_any_pane_focused",
            "test_editor_key_in_a_terminal",
            "test_allowed",
        ),
        2,
    ),
    **dict.fromkeys(
        (
            "test_too_many_processes",
            "test_fixing_a_bug_never_takes_a_check_away",
        ),
        2,
    ),
    "test_honest_verdict_with_limits_alone": 5,  # the same files as with the sandbox, of which all are run
    "test_forged_records_do_no_harm": 3,
    "test_every_shown_key_is_seen_to_work": 14,  # states by widths
    "test_right_answers_are_proved": 3,
    "test_lines_of_every_mistake": 3,
    "test_no_walk_finds_a_reference_in_an_installation": 2,  # an editable install and a wheel
    **dict.fromkeys(
        (
            *("test_nothing_gives_a_mistake_away", "test_the_changed_lines_are_all_that_differ"),
            *("test_what_is_told_stands_in_the_reference", "test_pairs_lie_on_different_lines"),
        ),
        3,  # of the challenges
    ),
}
TINY_PACK = Path(__file__).parent / "packs" / "tiny"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is left out unless it is asked for."""
    rows = Counter[str]()
    for item in items:
        name = getattr(item, "originalname", item.name)
        rows[name] += 1
        # What acts on a fork server is tested by the kernel's means, and as thoroughly by the others only where all tests are asked for.
        other_means = item.path.stem == "test_isolation" and any(
            how in item.name for how in ("limits", "bubblewrap")
        )
        if (
            {name, item.name} & set(THOROUGH.get(item.path.stem, ()))
            or (rows[name] - 1) % SAMPLED.get(name, 1)
            or other_means
        ):
            item.add_marker(pytest.mark.thorough)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The journal's folder of this test; no variable of the developer's own is seen."""
    folder = tmp_path / "home"
    for name in ("ATTN_DRILL_LANG", "NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ATTN_DRILL_HOME", str(folder))
    return folder


@pytest.fixture(scope="session", autouse=True)
def grader() -> Iterator[Grader]:
    """One fork server for all tests, started before any test loads a reference. It is patient: a busy machine is no reason to fail."""
    with Grader([pack_reader.built_in_pack(), TINY_PACK], Limits(seconds=60.0)) as made:
        yield made
