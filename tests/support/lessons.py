"""Answers that pass, each with the notes that it deserves, and helpers that measure them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from attn_drill.grading.grader import Grader
from attn_drill.grading.lesson import MeasuredAnswer, Teacher, measured_cases, notes
from attn_drill.model.challenge import Challenge, OtherAnswer
from attn_drill.model.report import Note
from attn_drill.packs import pack_reader
from attn_drill.packs.pack_reader import other_answers

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
