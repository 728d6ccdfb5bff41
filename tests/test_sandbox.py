"""What a submission cannot reach, tried by a submission."""

import sys
from pathlib import Path

import pytest

from trainer.content import packs
from trainer.grading.grader import Grader
from trainer.running.probe import probe_isolation

from .conftest import TINY_PACK

linux = pytest.mark.skipif(sys.platform != "linux", reason="Landlock and seccomp are Linux's; elsewhere `doctor` says that isolation is limited")

RIGHT = "import os, sys, torch\ndef prefix_sum(x, reverse=False):\n    {}\n    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)\n"


def first_failure(grader: Grader, body: str) -> str:
    """What is said of a prefix sum that does this first, '' if it passes."""
    report = grader.grade(packs.find_challenge(TINY_PACK, "prefix-sum"), RIGHT.format(body), "prefix_sum.py", 3)
    failure = report.first_failure()
    return "" if failure is None else failure.message


@linux
@pytest.mark.parametrize(
    "body",
    [
        pytest.param("import socket; socket.socket()", id="socket"),
        pytest.param("import socket; socket.socketpair()", id="socketpair"),
        pytest.param("os.fork()", id="fork"),
        pytest.param("import subprocess; subprocess.run(['true'])", id="subprocess"),
        pytest.param("os.execv('/bin/true', ['true'])", id="exec"),
        pytest.param("import multiprocessing as m; p = m.Process(target=print); p.start()", id="multiprocessing"),
        pytest.param("os.kill(os.getppid(), 9)", id="kill the zygote"),
        pytest.param("open(f'/proc/{os.getppid()}/environ').read()", id="the zygote's environment"),
        pytest.param("open(f'/proc/{os.getppid()}/mem', 'rb')", id="the zygote's memory"),
        pytest.param("os.listdir('/')", id="the root"),
        pytest.param(f"os.listdir({str(Path.home())!r})", id="the home"),
        pytest.param("open('/etc/passwd')", id="passwd"),
        pytest.param("open('/tmp/attn-drill-leak', 'w')", id="write to /tmp"),
        pytest.param("os.memfd_create('x')", id="memory outside the limit"),
        pytest.param(f"open({str(packs.built_in_pack() / 'solutions/gqa/solution.py')!r})", id="a solution"),
        pytest.param(f"open({str(TINY_PACK / 'solutions/prefix_sum/solution.py')!r})", id="its own solution"),
        pytest.param(f"os.listdir({str(packs.TRAINER)!r})", id="the engine"),
    ],
)
def test_denied(grader: Grader, body: str) -> None:
    """Each is refused with an error that the learner reads; the grader lives on."""
    assert any(word in first_failure(grader, body) for word in ("PermissionError", "ImportError", "PackError", "ModuleNotFoundError"))
    assert first_failure(grader, "pass") == ""


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("open('note.txt', 'w').write('x')", id="its own folder"),
        pytest.param("import tempfile; tempfile.TemporaryFile().write(b'x')", id="tempfile"),
        pytest.param("import threading; t = threading.Thread(target=print); t.start(); t.join()", id="a thread"),
        pytest.param("if len(x) == 3:\n        torch.set_num_threads(2)\n        torch.randn(300, 300) @ torch.randn(300, 300)", id="torch's threads"),
        pytest.param("import json, decimal, fractions, random, itertools, xml.dom.minidom", id="the standard library"),
        pytest.param("import numpy.polynomial.chebyshev", id="installed packages"),
        pytest.param("torch.compile(lambda y: y + 1)(x)", id="torch.compile, which compiles nothing here"),
        pytest.param("torch.jit.script(torch.nn.Linear(2, 2))", id="torch.jit"),
        pytest.param("import inspect; assert 'cumsum' in inspect.getsource(prefix_sum)", id="its own source"),
    ],
)
def test_allowed(grader: Grader, body: str) -> None:
    """What honest code does still works."""
    assert first_failure(grader, body) == ""


@linux
def test_probes_tell_the_truth() -> None:
    """Where a submission is refused, `doctor` says held, and what it says was really tried."""
    held = probe_isolation([packs.TRAINER, packs.built_in_pack() / "solutions"])
    assert held["open a network socket"]
    assert held["read the solutions"]
    assert held["start a process"]
    assert probe_isolation([packs.TRAINER / "nowhere"])["read the solutions"] is False
