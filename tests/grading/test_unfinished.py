"""Unfinished files are recognised, and wrong answers are not taken for unfinished files."""

import re

import pytest

from attn_drill.grading.grader import Grader
from attn_drill.model.challenge import Challenge, Limits
from attn_drill.model.report import Report
from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import read_mistakes
from attn_drill.packs.stub_levels import LEVELS
from tests.support.grading import report_of

BUILT_IN = pack_reader.built_in_pack()
GQA = pack_reader.find_challenge(BUILT_IN, "gqa")
SDPA = pack_reader.find_challenge(BUILT_IN, "sdpa")
SOLUTION = pack_reader.solution(GQA)
RETURN = "return self.o_proj(merged)"
WRONG = SOLUTION.replace(RETURN, "return self.o_proj(merged) * 2")
HEAD, TAIL = SOLUTION.split("    def forward(", 1)
TAIL = "    def forward(" + TAIL
FORWARD = "    def forward(self, x, mask=None):\n"
BEFORE_INIT = HEAD[: HEAD.index("    def __init__(")]


def grade(grader: Grader, source: str) -> Report:
    """Grade a source as gqa."""
    return report_of(grader, GQA, source, "gqa.py", 5)


UNFINISHED = {
    "no colon": (
        SOLUTION.replace("mask=None):", "mask=None)"),
        r"does not parse: line \d+, expected ':'",
    ),
    "open bracket": (SOLUTION.replace("(merged)", "(merged"), r"does not parse: line \d+"),
    "indentation": (SOLUTION + "   x = 1\n", r"does not parse: line \d+"),
    "a tab between spaces": ("if True:\n        x = 1\n\ty = 2\n", r"does not parse: line 3"),
    "a return outside a function": (
        "return 1\n",
        r"does not parse: line 1, 'return' outside function",
    ),
    "nested too deeply": ("x = " + "(" * 5000 + "1" + ")" * 5000, r"does not parse"),
    "half a keyword": (SOLUTION + "\nimport \n", r"does not parse: line \d+"),
    "no class": ("import torch\n", "GroupedQueryAttention is missing"),
    "half a name": (
        SOLUTION.replace("class GroupedQueryAttention", "class Grouped"),
        "GroupedQueryAttention is missing",
    ),
    "a placeholder at import": (
        "raise NotImplementedError\n",
        "the file raises NotImplementedError",
    ),
    "no forward": (HEAD, r"GroupedQueryAttention.forward is missing"),
    "no constructor": (BEFORE_INIT + TAIL, r"GroupedQueryAttention.__init__ is missing"),
    "no forward in a base": (
        HEAD.replace("class GroupedQueryAttention(nn.Module)", "class Base(nn.Module)")
        + "\n\nclass GroupedQueryAttention(Base):\n    pass\n",
        "GroupedQueryAttention.forward is missing",
    ),
    "the stub's forward": (
        HEAD + FORWARD + "        raise NotImplementedError\n",
        "forward raises NotImplementedError",
    ),
    "the stub's line at the end": (
        SOLUTION.replace(f"        {RETURN}", "        raise NotImplementedError"),
        "forward raises NotImplementedError",
    ),
    "a placeholder with a message": (
        HEAD + FORWARD + '        raise NotImplementedError("todo")\n',
        "forward raises NotImplementedError",
    ),
    "a placeholder in a branch": (
        SOLUTION.replace(
            "if mask is not None:", "if mask is not None:\n            raise NotImplementedError"
        ),
        "forward raises NotImplementedError",
    ),
    "a placeholder in a helper": (
        SOLUTION.replace(RETURN, "return self.join(merged)")
        + "\n    def join(self, x):\n        raise NotImplementedError\n",
        "join raises NotImplementedError",
    ),
    # The layers are missing, so no run reaches forward.
    "half a constructor": (
        BEFORE_INIT
        + "    def __init__(self, d_model, num_heads, num_kv_heads, dropout=0.0, bias=True):\n"
        + "        super().__init__()\n        self.q_proj = nn.Linear(d_model, d_model)\n\n"
        + FORWARD
        + "        raise NotImplementedError\n",
        "forward raises NotImplementedError",
    ),
    "the stub's constructor": (
        BEFORE_INIT
        + "    def __init__(self, d_model, num_heads, num_kv_heads, dropout=0.0, bias=True):\n"
        + "        super().__init__()\n        raise NotImplementedError\n\n"
        + TAIL,
        "__init__ raises NotImplementedError",
    ),
    "pass": (HEAD + FORWARD + "        pass\n", "forward is empty"),
    "dots": (HEAD + FORWARD + '        """Soon."""\n        ...\n', "forward is empty"),
    "an empty forward without layers": (
        BEFORE_INIT
        + "    def __init__(self, d_model, num_heads, num_kv_heads, dropout=0.0, bias=True):\n"
        + "        super().__init__()\n\n"
        + FORWARD
        + "        ...\n",
        "forward is empty",
    ),
    "no return yet": (SOLUTION.replace(RETURN, ""), "it returns nothing yet"),
    "a bare return": (SOLUTION.replace(RETURN, "return"), "it returns nothing yet"),
}


FINISHED = {
    "wrong": WRONG,
    "crashes": SOLUTION.replace(RETURN, "return self.o_proj(merged.nothing)"),
    "import error": "import maths\n" + SOLUTION,
    "another error": SOLUTION.replace(RETURN, "raise ValueError('no')\n        return merged"),
    "SyntaxError at run time": "eval('1 +')\n" + SOLUTION,
    # torch raises NotImplementedError for dtypes without a kernel.
    "a missing kernel": SOLUTION.replace(
        RETURN, "return self.o_proj(torch.softmax(merged > 0, -1))"
    ),
    "a placeholder after the return": WRONG.replace(
        "return self.o_proj(merged) * 2",
        "return self.o_proj(merged) * 2\n        raise NotImplementedError",
    ),
    "a placeholder in a base class": WRONG.replace(
        "class GroupedQueryAttention(nn.Module)",
        "class Base(nn.Module):\n    def forward(self, x):\n        raise NotImplementedError\n\n\n"
        "class GroupedQueryAttention(Base)",
    ),
    "an option that is not supported": WRONG.replace(
        "return self.o_proj(merged) * 2",
        "if x.dim() == 3:\n            return self.o_proj(merged) * 2\n"
        '        raise NotImplementedError("only 3 dims")',
    ),
    "a deep expression": WRONG
    + f"\n\nclass Later:\n    def forward(self):\n        raise TypeError({'+'.join('1' * 700)})\n",
    "renamed argument": SOLUTION.replace("x, mask=None", "x, attention_mask=None"),
    "a missing layer": SOLUTION.replace(
        "self.v_proj =", "self.v_proj = self.k_proj\n        unused ="
    ),
    "another exception for bad sizes": SOLUTION.replace("ValueError", "NotImplementedError"),
    "forward is an alias": WRONG.replace("def forward(", "def run(") + "\n    forward = run\n",
    "forward is in a base class": WRONG.replace(
        "class GroupedQueryAttention(nn.Module)", "class Base(nn.Module)"
    )
    + "\n\nclass GroupedQueryAttention(Base):\n    pass\n",
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("source", "says"), UNFINISHED.values(), ids=UNFINISHED.keys())
def test_unfinished_file_is_recognised(grader: Grader, source: str, says: str) -> None:
    """The report has the reason. The verdict is the same as for a wrong answer."""
    report = grade(grader, source)
    assert report.verdict != "passed"
    assert re.search(says, report.unfinished), report
    assert report.unfinished.startswith(("does not parse: ", "is not finished: "))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("source", FINISHED.values(), ids=FINISHED.keys())
def test_wrong_answer_is_finished(grader: Grader, source: str) -> None:
    """A wrong answer counts as finished, also if it raises an exception."""
    report = grade(grader, source)
    assert report.verdict != "passed"
    assert report.unfinished == ""


@pytest.mark.thorough
def test_endless_loop_is_finished(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that reaches the time limit is a wrong answer, although it returns nothing."""
    monkeypatch.setattr(grader.workers, "limits", Limits(seconds=1.0))
    report = grade(grader, SOLUTION.replace(RETURN, "while True: pass"))
    assert (report.verdict, report.unfinished) == ("timeout", "")


@pytest.mark.thorough
def test_forward_of_the_object_is_enough(grader: Grader) -> None:
    """A right answer may set its `forward` in the constructor."""
    source = SOLUTION.replace("def forward(", "def run(").replace(
        "super().__init__()", "super().__init__()\n        self.forward = self.run", 1
    )
    assert grade(grader, source).verdict == "passed"


def test_right_answer_is_finished(grader: Grader) -> None:
    """A submission that passes is never unfinished, not even with an unused placeholder."""
    unused = "\n\ndef later():\n    raise NotImplementedError\n"
    report = grade(grader, SOLUTION + unused)
    assert (report.verdict, report.unfinished) == ("passed", "")


@pytest.mark.sampled(60)
@pytest.mark.parametrize(
    "challenge", pack_reader.read_pack(BUILT_IN), ids=lambda challenge: challenge.id
)
def test_every_stub_is_unfinished(grader: Grader, challenge: Challenge) -> None:
    """An editor may save a stub with a space at the end. The stubs of all levels are unfinished."""
    for level in LEVELS:
        source = pack_reader.stub(challenge, level) + " \n"
        report = report_of(grader, challenge, source, challenge.file_name, 5)
        assert report.unfinished.startswith("is not finished: "), level


@pytest.mark.thorough
def test_known_mistakes_are_finished(grader: Grader) -> None:
    """A third of the known mistakes of a challenge: wrong answers, and no unfinished files."""
    solution = pack_reader.solution(SDPA)
    for mistake in read_mistakes(SDPA)[::3]:
        report = report_of(grader, SDPA, solution.replace(mistake.was, mistake.now), "sdpa.py", 5)
        assert report.verdict != "passed", mistake.id
        assert report.unfinished == "", mistake.id
