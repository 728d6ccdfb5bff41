"""What a recorder tells: lines, operations, what was made from what, names, writes into what was given."""

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from trainer.worker import recorder as recorder_module
from trainer.worker.recorder import RecordedStep, Recorder

PATH = "answer.py"


def record(source: str, **inputs: Tensor) -> tuple[Recorder, Any]:
    """A recorder of one call of `f`, which the source defines in its first line, and what it returned."""
    names: dict[str, Any] = {"torch": torch}
    exec(compile(source, PATH, "exec"), names)
    recorder = Recorder(PATH)
    recorder.give(inputs)
    with torch.no_grad(), recorder:
        returned = names["f"](**inputs)
    return recorder, returned


def of_line(recorder: Recorder, line: int) -> list[RecordedStep]:
    """The operations whose innermost line is this one."""
    return [
        step
        for step in recorder.steps
        if step.lines[:1] == (line,) and step.operation not in ("number", "return")
    ]


X = torch.arange(6.0).reshape(2, 3)


def test_lines_values_and_names() -> None:
    """Every operation has its line, its result and, once it is bound, its name; the last of a line's operations bears it."""
    recorder, _ = record("def f(x):\n    y = x.t() * 2\n    return y + 1\n", x=X)
    assert [(step.operation, step.lines, step.name) for step in recorder.steps[1:]] == [
        ("t", (2,), ""),
        ("mul", (2,), "y"),
        ("add", (3,), ""),
        ("return", (3,), ""),
    ]
    assert torch.equal(of_line(recorder, 2)[-1].value, X.t() * 2)  # type: ignore[arg-type]  # a value is there


def test_made_from_what() -> None:
    """Parents lead back to what was given, through views and returns."""
    recorder, returned = record(
        "def g(a):\n    return a.view(-1)\ndef f(x, m):\n    return g(x * 2)[m]\n",
        x=X,
        m=torch.tensor([0, 5]),
    )
    waiting, seen = [recorder.step_of(returned)], set()
    while waiting:
        number = waiting.pop()
        seen.add(recorder.steps[number].operation)
        waiting += recorder.steps[number].parents
    assert {"input x", "input m", "mul", "view", "index"} <= seen


def test_lines_of_functions_and_calls() -> None:
    """In a function of the file's own the innermost line comes first, then the calls around it."""
    recorder, _ = record(
        "def g(a):\n    return a * 2\ndef f(x):\n    y = g(x)\n    return g(y)\n", x=X
    )
    assert [step.lines for step in recorder.steps if step.operation == "mul"] == [(2, 4), (2, 5)]


def cut_lines(source: str) -> set[int]:
    """The lines of `f` that cut gradients off."""
    names: dict[str, Any] = {"torch": torch}
    exec(compile(source, PATH, "exec"), names)
    recorder, x = Recorder(PATH, names=False, gradients=True), X.clone().requires_grad_()
    recorder.give({"x": x})
    with recorder:
        recorder.used([names["f"](x)])
    return {step.lines[0] for step in recorder.steps if step.cut}


def test_what_cuts_gradients_off() -> None:
    """What is detached and used so, and what is made where gradients are off; not what autograd detaches for itself."""
    assert cut_lines(
        "def f(x):\n    w = torch.softmax(x, -1)\n    a = w.tanh() + w.amax()\n    b = w.detach() * 2\n    c = x.data + b\n"
        "    with torch.no_grad():\n        d = a * 3\n    return a + c + d\n"
    ) == {4, 5, 7}


def test_a_function_with_its_own_gradient_cuts_nothing_off() -> None:
    """Gradients are off in its forward; what it returns has one."""
    assert cut_lines(
        "class Twice(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        return (x + 1) * 2\n"
        "    @staticmethod\n    def backward(ctx, gradient):\n        return gradient\n"
        "def f(x):\n    y = Twice.apply(x)\n    with torch.no_grad():\n        z = y * 2\n    return y + z\n"
    ) == {11}


def test_numbers_in_attributes() -> None:
    """A number that is put into an attribute of `self` is told with its line, once."""
    recorder, _ = record(
        "class A:\n    def __init__(self, d):\n        self.scale = d**-0.5\n        self.d = d\ndef f(x):\n    return x * A(16).scale\n",
        x=X,
    )
    assert [
        (step.name, float(step.value), step.lines[0])
        for step in recorder.steps
        if step.name.startswith("self.") and step.value is not None
    ] == [
        ("self.scale", 0.25, 3),
        ("self.d", 16.0, 4),
    ]


def test_writes() -> None:
    """Writing into what was given is told, also through a view; writing into memory of its own is not."""
    source = (
        "def f(x):\n    y = x.clone()\n    y.mul_(2)\n    y[0] = 0\n    x[1] = 7\n    return y\n"
    )
    recorder, _ = record(source, x=X.clone())
    written = {step.lines[0] for step in recorder.steps if step.into == 0}
    assert written == {5}


def test_a_written_part_changes_the_whole() -> None:
    """After a slice was written the whole tensor is a result of that line."""
    recorder, returned = record(
        "def f(x):\n    y = torch.zeros(2, 3)\n    y[:, 0] = x[:, 1]\n    return y\n", x=X
    )
    whole = of_line(recorder, 3)[-1]
    assert whole.value is not None
    assert torch.equal(whole.value, returned)
    seen, waiting = set(), [recorder.step_of(returned)]
    while waiting:
        number = waiting.pop()
        seen.add(number)
        waiting += recorder.steps[number].parents
    assert 0 in seen  # it was made of x


def test_numbers() -> None:
    """Python numbers are told with their lines and names; those returned without a name."""
    recorder, _ = record(
        "def f(n):\n    a = 3 * 4\n    b = a / 8\n    return b\n", n=torch.zeros(())
    )
    numbers = [
        (step.lines, step.name, float(step.value))
        for step in recorder.steps
        if step.operation == "number"
    ]  # type: ignore[arg-type]  # as above
    assert numbers == [((2,), "a", 12.0), ((3,), "b", 1.5), ((4,), "", 1.5)]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("return torch.vmap(lambda row: row * 2)(x)", id="vmap"),
        pytest.param("return torch.einsum('ij,kj->ik', x, x)", id="einsum"),
        pytest.param("return [row * 2 for row in x][0]", id="comprehension"),
        pytest.param("return (lambda a: a * 2)(x)", id="lambda"),
        pytest.param("return sum(row * 2 for row in x)", id="generator"),
    ],
)
def test_one_liners(body: str) -> None:
    """Whatever a line is made of, its results are its own."""
    recorder, returned = record(f"def f(x):\n    {body}\n", x=X)
    made = of_line(recorder, 2)
    assert made
    assert any(
        step.value is not None
        and step.value.shape == returned.shape
        and torch.equal(step.value, returned)
        for step in made
    )


def test_values_are_copies() -> None:
    """A result that is changed later stays as it was when its line was done."""
    recorder, _ = record("def f(x):\n    y = x + 1\n    y.zero_()\n    return y\n", x=X)
    first = of_line(recorder, 2)[-1].value
    assert first is not None
    assert torch.equal(first, X + 1)


def test_other_files_and_what_comes_after_are_not_traced(tmp_path: Path) -> None:
    """Lines of other files have no lines here, and tracing ends with the recorder."""
    before = sys.gettrace()
    other = tmp_path / "other.py"
    other.write_text("def helper(x):\n    return x * 3\n")
    source = f"import sys\nsys.path.insert(0, {str(tmp_path)!r})\nfrom other import helper\ndef f(x):\n    return helper(x)\n"
    recorder, _ = record(source, x=X)
    assert [step.lines for step in recorder.steps if step.operation == "mul"] == [(5,)]
    assert sys.gettrace() is before


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Steps and bytes have limits: what comes later is run as ever, and is not kept."""
    monkeypatch.setattr(recorder_module, "MOST_STEPS", 10)
    recorder, returned = record(
        "def f(x):\n    for _ in range(50):\n        x = x + 1\n    return x\n", x=X
    )
    assert len(recorder.steps) == 10
    assert torch.equal(returned, X + 50)
    monkeypatch.setattr(recorder_module, "MOST_STEP_BYTES", 20)
    recorder, _ = record("def f(x):\n    return (x * 2)[0]\n", x=X)
    assert [
        step.value is None for step in recorder.steps if step.operation in ("mul", "select")
    ] == [True, False]


def test_an_exception_keeps_what_was_made() -> None:
    """What was made before a line raised is told."""
    names: dict[str, Any] = {"torch": torch}
    exec(compile("def f(x):\n    y = x * 2\n    return y @ y\n", PATH, "exec"), names)
    recorder = Recorder(PATH)
    recorder.give({"x": X})
    with pytest.raises(RuntimeError, match="mat1"), torch.no_grad(), recorder:
        names["f"](X)
    assert [step.operation for step in of_line(recorder, 2)] == ["mul"]
