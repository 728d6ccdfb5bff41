"""The lesson about an answer that passed, and the notes that answers deserve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from attn_drill.grading.grader import Grader, Judgement
from attn_drill.grading.lesson import (
    MEASURED_KINDS,
    MeasuredAnswer,
    Teacher,
    measured_cases,
    notes,
    relative_error,
)
from attn_drill.model.challenge import Challenge, Limits, OtherAnswer, Submission
from attn_drill.model.report import Lesson, Note
from attn_drill.packs import pack_reader
from attn_drill.packs.pack_reader import other_answers
from attn_drill.worker.protocol import CopyFact, Facts, HeldFact
from attn_drill.worker.worker_client import SupersededError
from tests.support.grading import RIGHT_SUM
from tests.support.paths import TINY_PACK

PACK = pack_reader.built_in_pack()
SEED = 5
# The answers that an answer is compared with, because measuring all of them takes long.
COMPARED = {
    "gqa": ("reference", "grouped_einsum", "fused_float32_softmax"),
    "sdpa": ("reference", "einsum_float32_softmax"),
    "rope": ("reference", "complex_numbers"),
    "kv-cache": ("reference",),
    "mla": ("reference", "deepseek_style"),
}
# The first words that only notes of this kind have.
KINDS = {
    "copies repeated entries": "copy",
    "Python reads a value": "read",
    "is on the CPU": "device",
    "without dtype=": "dtype",
    "In bfloat16 the result": "precision",
    "At its peak": "memory",
    "multiply-adds, the reference": "products",
    "tensor operations that": "operations",
    "None of the measured calls": "unused",
}


@dataclass(frozen=True)
class Answer:
    """An answer that passes, and its notes.

    Attributes:
        challenge: the id of the challenge.
        changes: parts of the reference, and the text that takes their place.
        deserves: the kind of each note, with a part of the line that the note names; "" if the
            note names no line.
    """

    challenge: str
    changes: Mapping[str, str] = field(default_factory=dict)
    deserves: frozenset[tuple[str, str]] = frozenset()

    @property
    def source(self) -> str:
        """The text of the file."""
        text = pack_reader.solution(challenge_of(self.challenge))
        for old, new in self.changes.items():
            assert text.count(old) == 1, f"{old!r} is in the reference {text.count(old)} times"
            text = text.replace(old, new)
        return text


def challenge_of(name: str) -> Challenge:
    """Return a challenge of the built-in pack."""
    return pack_reader.find_challenge(PACK, name)


def measured(grader: Grader, challenge: str, name: str, source: str) -> MeasuredAnswer:
    """Return the facts about an answer, measured in this process."""
    case_set = measured_cases(grader.case_set(challenge_of(challenge), SEED))
    teacher = Teacher(grader.workers)
    return teacher._measured_content(case_set, OtherAnswer(name, "", "", source))


@cache
def compared(grader: Grader, challenge: str) -> list[MeasuredAnswer]:
    """Return the facts about some right answers of the pack, the reference first."""
    return [
        measured(grader, challenge, answer.name, answer.source)
        for answer in other_answers(challenge_of(challenge))
        if answer.name in COMPARED[challenge]
    ]


def notes_on(grader: Grader, answer: Answer) -> tuple[Note, ...]:
    """Return the notes on an answer, measured in this process."""
    own = measured(grader, answer.challenge, "answer", answer.source)
    return notes(own, compared(grader, answer.challenge))


def kinds_with_lines(found: tuple[Note, ...], source: str) -> list[tuple[str, str]]:
    """Return the kind of each note, and the line of code that it names."""
    lines = ["", *source.splitlines()]
    return [(kind_of(note), lines[note.line].strip()) for note in found]


def kind_of(note: Note) -> str:
    """Return the kind of a note by its words."""
    (kind,) = {kind for words, kind in KINDS.items() if words in note.says}
    return kind


_KEYS = "k = k.repeat_interleave(group_size, dim=1)"
_VALUES = "v = v.repeat_interleave(group_size, dim=1)"
_FILL = 'scores = scores.masked_fill(~mask, float("-inf"))'
_SOFTMAX = "weights = torch.softmax(scores, dim=-1)"
_COPIED = ("copy", _KEYS)


def _filled(*lines: str) -> dict[str, str]:
    """Return the change that puts these lines in place of the masked fill."""
    return {_FILL: "\n            ".join(lines)}


def _by(challenge: str, changes: Mapping[str, str], *deserves: tuple[str, str]) -> Answer:
    usual = (_COPIED,) if challenge == "gqa" and _KEYS not in changes else ()
    return Answer(challenge, changes, frozenset((*deserves, *usual)))


# The grouped query of an answer that copies no key.
_GROUPED = {
    _KEYS: "q = q.view(batch, self.num_kv_heads, group_size, length, self.head_dim)",
    _VALUES: "k, v = k[:, :, None], v[:, :, None]",
    "scores = q @ k.transpose(-2, -1)": 'scores = torch.einsum("bgrid,bgojd->bgrij", q, k)',
    _FILL: (
        "full = mask.expand(batch, self.num_heads, length, length)\n"
        "            scores = scores.masked_fill(~full.reshape(scores.shape), float('-inf'))"
    ),
    "heads = weights @ v": 'heads = torch.einsum("bgrij,bgojd->bgrid", weights, v).flatten(1, 2)',
}
_INIT = "self.dropout = nn.Dropout(dropout)"

ANSWERS = {
    "repeat_interleave copies keys": _by("gqa", {}),
    "expand and matmul copies keys": _by(
        "gqa",
        {
            _KEYS: "k = k[:, :, None].expand(-1, -1, group_size, -1, -1)",
            _VALUES: "v = v[:, :, None].expand(-1, -1, group_size, -1, -1).flatten(1, 2)",
            "scores = q @ k.transpose(-2, -1)": "scores = q @ k.flatten(1, 2).transpose(-2, -1)",
        },
        ("copy", "v = v[:, :, None].expand"),
    ),
    "grouped einsum copies nothing": _by("gqa", _GROUPED),
    "mask buffer that the device follows": _by(
        "gqa",
        {
            _INIT: f'{_INIT}\n        self.register_buffer("low", torch.tensor([float("-inf")]))',
            _FILL: "scores = torch.where(mask, scores, self.low.to(scores.dtype))",
        },
    ),
    "low in a plain attribute": _by(
        "gqa",
        {
            _INIT: f'{_INIT}\n        self.low = torch.full((1,), float("-inf"))',
            _FILL: "scores = torch.where(mask, scores, self.low.type_as(scores))",
        },
    ),
    "ones without a device": _by(
        "gqa",
        _filled(
            "everything = torch.ones(length, length).bool()",
            "scores = scores.masked_fill(~(mask & everything), float('-inf'))",
        ),
        ("device", "everything = torch.ones(length, length).bool()"),
    ),
    "ones of the input's device": _by(
        "gqa",
        _filled(
            "everything = torch.ones(length, length, device=x.device).bool()",
            "scores = scores.masked_fill(~(mask & everything), float('-inf'))",
        ),
    ),
    "ones that are moved": _by(
        "gqa",
        _filled(
            "everything = torch.ones(length, length).bool().to(x.device)",
            "scores = scores.masked_fill(~(mask & everything), float('-inf'))",
        ),
    ),
    "bias without a dtype": _by(
        "gqa",
        {
            **_filled(
                "bias = torch.zeros(mask.shape, device=x.device)",
                "scores = scores + bias.masked_fill(~mask, float('-inf'))",
            ),
            _SOFTMAX: "weights = torch.softmax(scores, dim=-1).to(x.dtype)",
        },
        ("dtype", "bias = torch.zeros(mask.shape, device=x.device)"),
    ),
    "bias in float32 on purpose": _by(
        "gqa",
        {
            **_filled(
                "bias = torch.zeros(mask.shape, device=x.device, dtype=torch.float32)",
                "scores = scores + bias.masked_fill(~mask, float('-inf'))",
            ),
            _SOFTMAX: "weights = torch.softmax(scores, dim=-1).to(x.dtype)",
        },
    ),
    "bias in the input's dtype": _by(
        "gqa",
        _filled(
            "bias = torch.zeros(mask.shape, device=x.device, dtype=x.dtype)",
            "scores = scores + bias.masked_fill(~mask, float('-inf'))",
        ),
    ),
    "softmax in float32": _by(
        "gqa", {_SOFTMAX: "weights = torch.softmax(scores.float(), dim=-1).to(x.dtype)"}
    ),
    "branch on the mask": _by(
        "gqa", _filled("if not mask.all():", f"    {_FILL}"), ("read", "if not mask.all():")
    ),
    "assertion on the mask": _by(
        "gqa",
        _filled("assert mask.any(-1).all(), 'a row of the mask is empty'", _FILL),
        ("read", "assert mask.any(-1).all()"),
    ),
    "scale by item": _by(
        "gqa",
        {
            "scores = scores / math.sqrt(self.head_dim)": (
                "scale = torch.tensor(float(self.head_dim)).sqrt().item()\n"
                "        scores = scores / scale"
            )
        },
        ("read", "scale = torch.tensor"),
    ),
    "write by a mask": _by("gqa", _filled("scores[~mask.expand_as(scores)] = float('-inf')")),
    "parameter that nothing reads": _by(
        "gqa",
        {
            _INIT: (
                f"{_INIT}\n"
                '        self.register_buffer("causal", torch.ones(4, 4).tril(), persistent=False)'
            )
        },
        ("unused", ""),
    ),
    "softmax by hand": _by(
        "sdpa",
        {
            _SOFTMAX: (
                "exponentials = torch.exp(scores - scores.amax(-1, keepdim=True))\n"
                "    weights = exponentials / exponentials.sum(-1, keepdim=True)"
            )
        },
        ("memory", "exponentials"),
    ),
    "products as a sum": _by(
        "sdpa",
        {
            "scores = q @ k.transpose(-2, -1)": (
                "scores = (q[..., :, None, :] * k[..., None, :, :]).sum(-1)"
            )
        },
        ("memory", "scores = (q[..., :, None, :]"),
    ),
    "scores twice": _by(
        "sdpa",
        {
            "scores = scores / math.sqrt(head_dim)": (
                "scores = (q * head_dim**-0.5) @ k.transpose(-2, -1)"
            )
        },
        ("products", ""),
    ),
    "positions without a device": _by(
        "rope",
        {
            "position_ids = torch.arange(length, device=q.device)[None]": (
                "position_ids = torch.arange(length)[None]"
            )
        },
    ),
    "tables in the dtype of the queries": _by(
        "rope",
        {
            "cos = cos[position_ids].unsqueeze(1)": (
                "cos, sin = cos.to(q.dtype), sin.to(q.dtype)\n"
                "    cos = cos[position_ids].unsqueeze(1)"
            )
        },
        ("precision", ""),
    ),
    "length of the past by item": _by(
        "kv-cache",
        {"past_length = past_k.shape[2]": ("past_length = torch.tensor(past_k.shape[2]).item()")},
        ("read", "past_length = torch.tensor"),
    ),
    "mask of the past without a device": _by(
        "kv-cache",
        {"dtype=torch.bool, device=x.device)": "dtype=torch.bool)"},
        ("device", "everything = torch.ones("),
    ),
    "angles without a device": _by(
        "mla",
        {
            "exponents = torch.arange(0, rope_dim, 2, device=x.device) / rope_dim": (
                "exponents = torch.arange(0, rope_dim, 2) / rope_dim"
            )
        },
        ("device", "exponents = torch.arange("),
    ),
}


SUMS = pack_reader.find_challenge(TINY_PACK, "prefix-sum")
MASKS = challenge_of("masks")


def judged(grader: Grader, challenge: str, source: str, seed: int = SEED) -> Judgement:
    """Return the judgement of an answer that passes."""
    found = challenge_of(challenge) if challenge != SUMS.id else SUMS
    judgement = grader.grade(found, Submission(f"{challenge}.py", source), seed)
    assert judgement.report.verdict == "passed", judgement.report.first_failure()
    return judgement


def lesson_on(grader: Grader, challenge: str, source: str) -> Lesson:
    """Return the lesson about an answer that passes."""
    return Teacher(grader.workers).lesson(judged(grader, challenge, source))


def test_lesson_has_costs_notes_and_all_right_answers(grader: Grader) -> None:
    """The worker measures the same as the grading process."""
    lesson = lesson_on(grader, "masks", pack_reader.solution(MASKS))
    assert lesson.call == measured_cases(grader.case_set(MASKS, SEED)).content.realistic().name  # type: ignore[union-attr]
    assert [(other.name, other.does, other.source) for other in lesson.others] == [
        (other.name, other.does, other.source) for other in other_answers(MASKS)
    ]
    assert lesson.cost == lesson.others[0].cost
    assert lesson.cost is not None
    assert (lesson.notes, lesson.is_measured) == ((), True)


@pytest.mark.thorough
def test_challenge_without_a_realistic_call_still_has_a_lesson(grader: Grader) -> None:
    """Its cases are measured, so a read of a value is found."""
    source = RIGHT_SUM.format("assert torch.isfinite(x).all()")
    lesson = lesson_on(grader, SUMS.id, source)
    assert (lesson.call, lesson.cost, lesson.is_measured) == ("", None, True)
    assert [(note.line, note.says[:19]) for note in lesson.notes] == [(3, "Python reads a valu")]


def test_measured_cases_are_plain_with_and_without_a_mask_in_both_dtypes(grader: Grader) -> None:
    """A bias without dtype= shows only with a mask in bfloat16."""
    case_set = measured_cases(grader.case_set(challenge_of("gqa"), SEED))
    kinds = [(prepared.case.dtype, prepared.case.check) for prepared in case_set.prepared]
    assert sorted(kinds) == sorted(MEASURED_KINDS)


# The first lines of a function that passes, and then does harm while it is measured.
HARM = {
    "raises": "raise SystemExit",
    "raises an exception without words": "raise type('E', (Exception,), {'__str__': None})",
    "prints": "print('\\x1b[2J' * 100_000)",
    "exits": "import os; os._exit(0)",
    "loops without end": "while True: pass",
    "loops on tensors without values": "while (lengths.max() > -1).item(): lengths = lengths * 2",
    "returns nonsense": "return [lengths.is_meta, {1: object()}]",
    "sleeps": "import time; time.sleep(3600)",
    "takes all memory": "torch.ones(1 << 40, device='cpu')",
}


@pytest.mark.thorough
@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", HARM)
def test_harm_during_the_measurement_hurts_nothing_else(
    grader: Grader, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    """The lesson has the pack's answers, nothing is printed, and the next answer is graded."""
    source = pack_reader.solution(MASKS)
    head = "def padding_mask(lengths, max_len):\n"
    assert source.count(head) == 1
    start = source.index(head) + len(head)
    body = f"    if lengths.is_meta:\n        {HARM[name]}\n"
    docstring_end = source.index('"""', source.index('"""', start) + 3) + 4
    judgement = judged(grader, "masks", source[:docstring_end] + body + source[docstring_end:])
    monkeypatch.setattr(grader.workers, "limits", Limits(seconds=1.0))
    monkeypatch.setattr(
        "attn_drill.grading.lesson.other_answers", lambda challenge: other_answers(challenge)[:1]
    )
    lesson = Teacher(grader.workers).lesson(judgement)
    assert [other.name for other in lesson.others] == ["reference"]
    assert lesson.others[0].cost is not None
    assert judgement.report.verdict == "passed"
    assert "\x1b[2J" not in "".join(capfd.readouterr())
    assert judged(grader, SUMS.id, RIGHT_SUM.format("pass"))


def test_file_of_the_pack_that_cannot_run_has_no_cost(
    grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its code is shown all the same. The output of a file is not printed."""
    reference, other, *_ = other_answers(SUMS) * 2
    broken = [
        type(other)("broken", "", "", "1 / 0\n"),
        type(other)("wrong", "", "", "print('hello')\nprefix_sum = None\n"),
    ]
    monkeypatch.setattr(
        "attn_drill.grading.lesson.other_answers", lambda challenge: (reference, *broken)
    )
    lesson = lesson_on(grader, SUMS.id, RIGHT_SUM.format("pass"))
    assert [(other.name, other.cost) for other in lesson.others] == [
        ("reference", None),
        ("broken", None),
        ("wrong", None),
    ]


def test_answer_of_the_pack_with_too_many_operations_has_no_cost(
    grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lesson would come too late."""
    case_set = measured_cases(grader.case_set(MASKS, SEED))
    measure = Teacher(grader.workers)._measured_content
    reference = other_answers(MASKS)[0]
    assert measure(case_set, reference).cost is not None
    monkeypatch.setattr("attn_drill.grading.lesson._MOST_OPERATIONS", 3)
    assert measure(case_set, reference).cost is None


def test_next_request_ends_the_measurement(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends at the next operation, not at the end of an answer of the pack."""
    case_set = measured_cases(grader.case_set(MASKS, SEED))
    checks = []

    def check() -> None:
        checks.append(1)
        if len(checks) > 2:
            raise SupersededError

    monkeypatch.setattr(grader.workers, "check_interrupt", check)
    measured = Teacher(grader.workers)._measured_content(case_set, other_answers(MASKS)[0])
    assert (len(checks), measured.cost) == (3, None)
    judgement = judged(grader, SUMS.id, RIGHT_SUM.format("pass"))
    with pytest.raises(SupersededError):
        Teacher(grader.workers).lesson(judgement)


def test_error_is_the_root_mean_square_of_the_errors_by_that_of_the_values(grader: Grader) -> None:
    """An output that is missing, or has another form, has no error."""
    expected = grader.case_set(SUMS, SEED).prepared[0].expected.outputs
    exact = {name: value.value for name, value in expected.items()}
    larger = {name: value * 1.25 for name, value in exact.items()}
    assert relative_error([(expected, exact)]) == 0
    assert relative_error([(expected, larger)]) == pytest.approx(0.25)
    both = [(expected, exact), (expected, larger)]
    assert relative_error(both) == pytest.approx(0.25 / 2**0.5), "all cases count together"
    assert relative_error([]) is None
    for bad in (
        {},
        {name: value[..., :-1] for name, value in exact.items()},
        {name: value * float("nan") for name, value in exact.items()},
        {name: value.to(torch.complex64) for name, value in exact.items()},
    ):
        assert relative_error([(expected, bad)]) is None


@pytest.mark.sampled(4)
@pytest.mark.thorough
@pytest.mark.parametrize("name", ANSWERS)
def test_answer_passes_and_its_lesson_has_the_deserved_notes(
    grader: Grader, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A worker measures the answer as the learner's file."""
    answer = ANSWERS[name]
    names = COMPARED[answer.challenge]
    monkeypatch.setattr(
        "attn_drill.grading.lesson.other_answers",
        lambda challenge: [other for other in other_answers(challenge) if other.name in names],
    )
    lesson = lesson_on(grader, answer.challenge, answer.source)
    found = kinds_with_lines(lesson.notes, answer.source)
    assert {kind for kind, _ in found} == {kind for kind, _ in answer.deserves}
    for kind, part in answer.deserves:
        assert any(kind == other and part in code for other, code in found)
    assert compared(grader, answer.challenge)[0].cost == lesson.others[0].cost


@pytest.mark.sampled(3)
@pytest.mark.thorough
@pytest.mark.parametrize("path", pack_reader.also_right(challenge_of("gqa")), ids=lambda p: p.stem)
def test_layers_keep_the_roles_that_the_verdict_found(grader: Grader, path: Path) -> None:
    """With other roles, the result in bfloat16 would be wrong by more than 100 %."""
    lesson = lesson_on(grader, "gqa", path.read_text())
    assert not any(note.says.startswith("In bfloat16") for note in lesson.notes)


MIB = 1 << 20
TOO = " This is true of the reference, too."


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ANSWERS)
def test_answer_gets_the_notes_that_it_deserves(grader: Grader, name: str) -> None:
    """A near miss gets no note. Every note names its line, if a line is the reason."""
    answer = ANSWERS[name]
    found = kinds_with_lines(notes_on(grader, answer), answer.source)
    left = set(answer.deserves)
    for kind, code in found:
        deserved = [(wanted, part) for wanted, part in left if wanted == kind and part in code]
        assert deserved, (kind, code)
        left -= set(deserved)
    assert not left


def answer(name: str = "answer", **facts: Any) -> MeasuredAnswer:
    """Return an answer with these facts about its realistic call."""
    return MeasuredAnswer(name, Facts(**facts))


def said(own: MeasuredAnswer, *others: MeasuredAnswer) -> list[tuple[int, str]]:
    """Return the line and the fact of each note."""
    return [(note.line, note.says) for note in notes(own, others)]


def test_copies_of_a_line_are_one_note_and_equal_lines_share_it() -> None:
    """The note names an answer that needs no copy."""
    copies = [CopyFact(4, 8 * MIB, 32 * MIB), CopyFact(5, 8 * MIB, 32 * MIB)]
    own = answer(copies=[*copies, CopyFact(9, MIB, 4 * MIB), CopyFact(9, MIB, 4 * MIB)])
    found = notes(own, [answer("reference", copies=copies), answer("grouped")])
    assert [(note.line, note.says) for note in found] == [
        (4, f"This line (as line 5) copies repeated entries: 32 MiB instead of 8 MiB.{TOO}"),
        (9, f"This line copies repeated entries: 8 MiB instead of 2 MiB.{TOO}"),
    ]
    assert all("`grouped` needs no copy" in note.why for note in found)
    assert {note.recommends for note in found} == {"grouped"}
    (note, _) = notes(own, [answer("reference"), answer("grouped")])
    assert (TOO in note.says, note.recommends) == (False, "reference")
    (note, _) = notes(own, [MeasuredAnswer("reference"), answer("grouped")])
    assert TOO not in note.says, "nothing is known about the reference"


@pytest.mark.parametrize("fact", ["reads", "other_device", "default_dtype"])
def test_fact_of_the_reference_is_said_of_both(fact: str) -> None:
    """A reader would else believe that the reference is better."""
    own, reference = answer(**{fact: [3]}), answer("reference", **{fact: [7]})
    ((line, says),) = said(own, reference)
    assert (line, says.endswith(TOO)) == (3, True)
    ((_, says),) = said(own, answer("reference", **{fact: [0]}), reference)
    assert TOO not in says, "only the reference counts, and only lines of its file"


def test_copy_that_every_answer_needs_is_no_note() -> None:
    """There would be nothing to do better."""
    copies = [CopyFact(4, MIB, 4 * MIB)]
    assert said(answer(copies=copies), answer("reference", copies=copies)) == []
    assert said(answer(copies=copies), MeasuredAnswer("reference")) == []


def test_error_in_bfloat16_is_compared_with_the_most_accurate_answer() -> None:
    """The note names the line of the softmax, if it runs in half precision."""
    others = [
        MeasuredAnswer("reference", half_error=0.003),
        MeasuredAnswer("f32", half_error=0.002),
    ]
    softmax = [Facts(half_softmax=[7])]
    own = MeasuredAnswer("own", calls=softmax, half_error=0.004)
    (note,) = notes(own, others)
    assert (note.line, note.recommends) == (7, "f32")
    assert note.says == (
        "In bfloat16 the result is off by 0.40% (root mean square) in your answer, by 0.30% in the "
        "reference and by 0.20% in `f32`. The softmax of this line runs in bfloat16."
    )
    others[0] = MeasuredAnswer("reference", half_error=0.0021)
    ((_, says),) = said(own, *others)
    assert "in your answer, by 0.20% in `f32`." in says, "the reference is nearly as good"
    assert said(MeasuredAnswer("own", half_error=0.0029), *others) == []
    assert said(MeasuredAnswer("own", calls=softmax), *others) == []


@pytest.mark.parametrize(
    ("peak", "compared"),
    [
        (100 * MIB, ""),
        (124 * MIB, ""),
        (126 * MIB, "100 MiB by the reference and 70 MiB by `lean`"),
        (141 * MIB, "100 MiB by the reference and 70 MiB by `lean`"),
    ],
)
def test_memory_is_a_note_above_a_quarter_more_than_the_reference(peak: int, compared: str) -> None:
    """The note names the line of the largest tensor."""
    own = answer(peak_bytes=peak, held=[HeldFact(3, 50 * MIB), HeldFact(9, MIB)])
    others = answer("reference", peak_bytes=100 * MIB), answer("lean", peak_bytes=70 * MIB)
    found = said(own, *others)
    assert [line for line, _ in found] == ([3] if compared else [])
    assert all(compared in says for _, says in found)


def test_memory_of_twice_the_best_answer_is_a_note_even_for_the_reference() -> None:
    """A small peak is no note."""
    own = answer(peak_bytes=100 * MIB)
    (note,) = notes(own, [answer("reference", peak_bytes=100 * MIB), answer("lean", peak_bytes=49)])
    assert note.recommends == "lean"
    assert len(said(own, own, answer("lean", peak_bytes=49 * MIB))) == 1
    assert said(own, own, answer("lean", peak_bytes=51 * MIB)) == []
    assert said(answer(peak_bytes=1000), answer("reference", peak_bytes=100)) == []


def test_products_and_operations_are_compared_with_the_reference() -> None:
    """A few operations more than the reference are no note."""
    reference = answer("reference", operations=14, multiply_adds=10**9)
    own = answer(operations=25, multiply_adds=2 * 10**9)
    assert [says for _, says in said(own, reference)] == [
        "Your answer needs 2 billion multiply-adds, the reference 1 billion.",
        "Your answer runs 25 tensor operations that compute or copy, the reference 14.",
    ]
    assert said(answer(operations=24, multiply_adds=1_040_000_000), reference) == []
    small = answer("reference", multiply_adds=10**6)
    assert said(answer(multiply_adds=2 * 10**6), small) == [], "a million takes no time"


def test_state_is_unused_only_if_no_call_reads_it() -> None:
    """A table of masks is read only by a call with a mask."""
    calls = [Facts(unused=["mask", "low"]), Facts(unused=["low"])]
    own = MeasuredAnswer("own", calls=calls)
    assert said(own) == [(0, "None of the measured calls reads low.")]
    reference = MeasuredAnswer("reference", calls=[Facts(unused=["high"])])
    assert said(own, reference) == [(0, f"None of the measured calls reads low.{TOO}")]


def test_fact_without_a_line_of_the_file_is_no_note() -> None:
    """The line would be wrong. Such facts come from code that Python does not see."""
    own = MeasuredAnswer("own", Facts(reads=[0], other_device=[0], default_dtype=[0]))
    assert notes(own, []) == ()


def test_answer_without_facts_has_no_notes() -> None:
    """The worker may have died."""
    assert notes(MeasuredAnswer("own"), [answer("reference", peak_bytes=MIB)]) == ()
    assert notes(MeasuredAnswer("own"), []) == ()


def test_every_note_says_why_it_matters_in_a_sentence() -> None:
    """Reasons come first that stop a program, then those that cost."""
    own = MeasuredAnswer(
        "own",
        Facts(
            operations=99,
            multiply_adds=9 * 10**9,
            peak_bytes=9 * MIB,
            copies=[CopyFact(1, MIB, 2 * MIB)],
            reads=[2],
            other_device=[3],
            default_dtype=[4],
        ),
        [Facts(unused=["low"])],
        0.1,
    )
    found = notes(own, [MeasuredAnswer("reference", Facts(), half_error=0.01)])
    assert [kind_of(note) for note in found] == (
        "copy read device dtype precision memory products operations unused".split()
    )
    for note in found:
        assert note.why.endswith(".")
        assert note.why[0].isupper() or note.why.startswith(("bfloat16", "torch.compile"))
