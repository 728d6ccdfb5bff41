"""The line of a named mistake in a file."""

import difflib
from random import Random

import pytest

from attn_drill.diagnosis import repairs
from attn_drill.diagnosis._named_line import is_omission, line_by_text, patched_lines
from attn_drill.exercises.altered_reference import choose_several, plant_mistakes
from attn_drill.grading.grader import Grader
from attn_drill.model.challenge import Mistake, Submission
from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import read_mistakes
from tests.support.grading import GPT, diagnoser_of, few_cases

SOURCE = pack_reader.solution(GPT)
KNOWN = {mistake.id: mistake for mistake in read_mistakes(GPT)}


def line_of(mistake: Mistake, source: str) -> int | None:
    """Return the last line of a mistake that a hunt planted."""
    found = line_by_text(SOURCE, mistake, source, is_planted=True)
    return None if found is None else found[1]


def handed_out(*names: str) -> str:
    """Return the file of a hunt with these mistakes."""
    return plant_mistakes(SOURCE, [KNOWN[name] for name in names], "Find the bugs.").source


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("sum-for-mean", "return F.cross_entropy("),
        ("no-step", "return loss.item()"),
        ("gradients-not-zeroed", "logits = model(tokens)"),
        ("final-norm-missing", "return self.head(x)"),
        ("context-cropped-at-the-end", "context = tokens[:, : model.max_seq_len]"),
    ],
)
def test_planted_line_is_found_among_other_mistakes(name: str, line: str) -> None:
    """A missing line is reported as the line after the gap."""
    source = handed_out(name, "no-scale")
    number = line_of(KNOWN[name], source)
    assert number is not None
    assert source.splitlines()[number - 1].strip().startswith(line)


def test_gap_of_a_planted_mistake_is_between_its_neighbours() -> None:
    """The lines before and after the gap are the span of the mistake."""
    source = handed_out("no-step")
    found = line_by_text(SOURCE, KNOWN["no-step"], source, is_planted=True)
    assert found is not None
    before, after = (source.splitlines()[line - 1].strip() for line in found)
    assert before.startswith("nn.utils.clip_grad_norm_(")
    assert after == "return loss.item()"


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", KNOWN)
def test_every_planted_mistake_is_found_in_its_file(name: str) -> None:
    """The line is one that differs from the reference, or is next to a gap."""
    right, source = handed_out(), handed_out(name)
    # A blank line next to a gap is no neighbour.
    right, source = ("\n".join(filter(None, text.splitlines())) for text in (right, source))
    number = line_of(KNOWN[name], source)
    texts = right.splitlines(), source.splitlines()
    changes = difflib.SequenceMatcher(None, *texts, autojunk=False).get_opcodes()
    changed = {
        line
        for tag, _, _, start, end in changes
        if tag != "equal"
        for line in range(start + (end > start), max(end, start + 1) + 1)
    }
    assert number in changed


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    return loss.item()", "    optimizer.step()\n    return loss.item()"),
        ("    return loss.item()", "    for group in optimizer.param_groups:\n        pass"),
    ],
    ids=["repaired", "written in another way"],
)
def test_line_that_is_gone_is_not_reported(old: str, new: str) -> None:
    """The file no longer has the text of the mistake."""
    source = handed_out("no-step")
    assert old in source
    assert line_of(KNOWN["no-step"], source.replace(old, new)) is None


def test_line_is_found_after_edits_elsewhere() -> None:
    """Comments, empty lines and prints of the learner do not matter."""
    source = handed_out("no-step")
    lines = source.splitlines()
    edited = "\n".join(
        ["# my notes", "", *(f"{line}  # seen" if line.endswith(")") else line for line in lines)]
    ).replace("    loss.backward()", "    print(logits.shape)\n\n    loss.backward()")
    number = line_of(KNOWN["no-step"], edited)
    assert number is not None
    assert edited.splitlines()[number - 1].strip().startswith("return loss.item()")


@pytest.mark.thorough
def test_report_of_a_hunt_marks_the_planted_line(
    grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The recorded values of a missing step lead to the output of the model."""
    monkeypatch.setattr(repairs, "load_training", lambda case_set: None)  # the curve takes long
    planted = ("no-step", "norms-exchanged")
    source = handed_out(*planted).replace("self.attn(self.ln_2(x))", "self.attn(self.ln_1(x))")
    judgement = grader.judge(few_cases(grader), Submission("hunt.py", source))
    diagnosis = diagnoser_of(grader).report(judgement, planted).diagnosis
    assert diagnosis is not None
    assert [mistake.id for mistake in diagnosis.mistakes] == ["no-step"]
    assert diagnosis.first_line is not None
    assert diagnosis.first_line.text.startswith("return loss.item()")
    assert diagnosis.first_line.function == "train_step"
    assert diagnosis.made_shape is None


def test_mistakes_of_random_hunts_are_found() -> None:
    """Four mistakes in a file do not hide each other's lines."""
    mistakes = list(KNOWN.values())
    chosen = next(choose_several(mistakes, SOURCE, 4, (), Random(3)))
    source = plant_mistakes(SOURCE, chosen, "Find the bugs.").source
    assert all(line_of(mistake, source) for mistake in chosen)


def test_changed_lines_are_those_that_only_the_mistake_has() -> None:
    """A line that the mistake moves is not changed. A missing line counts as the line after it."""
    reference = "def f(x):\n    x = hide(x)\n    x = softmax(x)\n    return x\n"
    was = "    x = hide(x)\n    x = softmax(x)\n"
    now = "    x = softmax(x)\n    x = cut(x)\n"
    assert patched_lines(reference, Mistake("late", was, now, "", "")) == {3}
    assert patched_lines(reference, Mistake("none", "    x = hide(x)\n", "", "", "")) == {2}


def test_other_number_leaves_out_no_operation() -> None:
    """-100.0 in place of `float("-inf")`, or a number without its root, is not a missing step."""
    reference = 'scores = scores.masked_fill(~mask, float("-inf")) / 2 * math.sqrt(d)\n'
    assert not is_omission(reference, Mistake("no-root", "math.sqrt(d)", "d", "", ""))
    assert not is_omission(reference, Mistake("fill", 'float("-inf")', "-100.0", "", ""))
    assert is_omission(reference, Mistake("no-half", " / 2", "", "", ""))
