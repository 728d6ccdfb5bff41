"""A worker's memory contains nothing about the user: no environment, arguments, packs or paths."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from trainer.packs import pack_reader
from trainer.sandbox.environment import ROOT

linux = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux keeps the strings on the stack"
)


TOKEN = "token-of-a-teacher-8341"


# This submission searches all writable memory of its process. It starts from the addresses that
# Python reveals. numpy can read any address.
SPY = '''
import gc
import sys

import numpy
import torch
from torch import nn


def read(address, count):
    class Memory:
        __array_interface__ = {
            "data": (address, True), "shape": (count,), "typestr": "|u1", "version": 3
        }

    return bytes(numpy.asarray(Memory()))


def stack():
    """Return the strings that the kernel put on the stack, after the pointers to the arguments."""
    import ctypes

    start = ctypes.c_void_p.in_dll(ctypes.CDLL(None), "program_invocation_name").value
    return read(start - 64, 2500)


def code_of_a_function():
    pass


CONTAINERS = (list, tuple, set, frozenset, dict)
gc.unfreeze()  # attn-drill froze its objects, and the collector does not list frozen objects
found, seen = set(), set()
waiting = [thing for thing in gc.get_objects() if type(thing) in CONTAINERS]
functions = [thing for thing in gc.get_objects() if type(thing) is type(code_of_a_function)]
waiting += [function.__code__.co_consts for function in functions]
waiting.append(sys.orig_argv)
# The collector does not list containers that hold only plain values, so find them in others.
while waiting:
    thing = waiting.pop()
    if id(thing) in seen:
        continue
    seen.add(id(thing))
    for part in [*thing.keys(), *thing.values()] if type(thing) is dict else list(thing):
        kind = type(part)
        if kind is str:
            found.add(part)
        elif kind is bytes:
            found.add(part.decode("latin-1"))
        elif kind in CONTAINERS and not gc.is_tracked(part):
            waiting.append(part)
try:
    found.add(stack().decode("latin-1"))
except Exception as error:
    print("no stack:", type(error).__name__)
text = "\\n".join(found)
for backwards in SECRETS:
    secret = "".join(reversed(backwards))
    print("LEAKED" if secret in text else "kept", len(text) > 100_000, repr(secret))


class GroupedQueryAttention(nn.Module):
    pass
'''


def run(*command: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run attn-drill in a new process whose environment contains a token."""
    return subprocess.run(
        [sys.executable, "-m", "trainer", *command],
        cwd=cwd,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "TEACHERS_TOKEN": TOKEN,
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def texts_of_the_pack() -> list[str]:
    """Return the docstring of `cases`, and names of cases, from the gqa challenge."""
    source = (pack_reader.built_in_pack() / "challenges" / "gqa" / "cases.py").read_text()
    (function,) = (
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name == "cases"
    )
    names = re.findall(r'case\(\s*"([^"]*kv heads[^"]*)"', source)
    docstring = ast.get_docstring(function)
    assert docstring
    assert len(names) >= 2
    return [docstring.splitlines()[0], *names]


@linux
@pytest.mark.parametrize("how", ["check", pytest.param("grade", marks=pytest.mark.thorough)])
def test_the_memory_of_a_worker_contains_nothing_about_the_user(tmp_path: Path, how: str) -> None:
    """A worker's memory has no environment, no command line, and of the pack only `drive`."""
    secrets = [
        TOKEN,
        "given-on-the-command-line",
        str(pack_reader.built_in_pack() / "challenges"),
        *texts_of_the_pack(),
        str(tmp_path),
    ]
    folder = tmp_path / "given-on-the-command-line"
    folder.mkdir()
    file = folder / "gqa.py"
    # The secrets are written backwards, so that the text of the file does not contain them.
    file.write_text(SPY.replace("SECRETS", repr([secret[::-1] for secret in secrets])))
    if how == "check":
        done = run("check", "gqa", str(file), "--json", cwd=tmp_path)
        assert done.returncode == 1, done.stderr
        printed = json.loads(done.stdout)["stdout"]
    else:
        out = tmp_path / "out"
        done = run(
            "grade",
            str(folder),
            "--challenge",
            "gqa",
            "--out",
            str(out),
            "--jobs",
            "1",
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        printed = json.loads(next((out / "results").glob("*.json")).read_text())["stdout"]
    lines = [line for line in printed.splitlines() if line.startswith(("LEAKED", "kept"))]
    assert len(lines) == len(secrets), printed
    assert [line for line in lines if line.startswith("LEAKED")] == []
    assert all("True" in line for line in lines), "the search saw too little memory"


def test_profiler_of_a_command_prints_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command itself looks for the line of a loop, with torch's profiler."""
    monkeypatch.delenv("KINETO_LOG_LEVEL")
    right = pack_reader.solution(pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa"))
    heads = "weights = torch.softmax(scores, dim=-1)"
    each = "torch.stack([torch.softmax(head, dim=-1) for head in scores.unbind(1)], dim=1)"
    assert heads in right
    (tmp_path / "gqa.py").write_text(right.replace(heads, f"weights = {each}"))
    done = run("check", "gqa", "gqa.py", cwd=tmp_path)
    assert "tensor operations become" in done.stdout
    assert done.stderr == ""


def test_a_launched_process_runs_the_given_command(tmp_path: Path) -> None:
    """Folder, arguments, environment, exit code and output are those of the command."""
    done = run("check", "gqa", "no such file.py", cwd=tmp_path, ATTN_DRILL_LANG="zh")
    assert done.returncode == 2
    assert "no such file.py" in done.stderr
    assert run("check", "gqa", "x.py", "--json", "--time-limit", "0", cwd=tmp_path).returncode == 2
