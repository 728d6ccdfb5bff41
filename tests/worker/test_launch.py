"""A worker's memory holds nothing of the person who grades: no environment, no arguments, no pack, no paths of it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from trainer.packs import pack_reader
from trainer.sandbox.environment import ROOT

linux = pytest.mark.skipif(
    sys.platform != "linux", reason="it looks for what Linux keeps on the stack"
)


TOKEN = "token-of-a-teacher-8341"


# All writable memory of the process is searched, by whichever address Python gives away; numpy reads any address.
SPY = '''
import gc
import sys

import numpy
import torch
from torch import nn


def read(address, count):
    class Memory:
        __array_interface__ = {"data": (address, True), "shape": (count,), "typestr": "|u1", "version": 3}

    return bytes(numpy.asarray(Memory()))


def stack():
    """Find the strings that the kernel put on the stack: they follow the pointers to the arguments."""
    import ctypes

    start = ctypes.c_void_p.in_dll(ctypes.CDLL(None), "program_invocation_name").value
    return read(start - 64, 2500)


def code_of_a_function():
    pass


CONTAINERS = (list, tuple, set, frozenset, dict)
gc.unfreeze()  # the engine froze what it had; frozen objects are not listed
found, seen = set(), set()
waiting = [thing for thing in gc.get_objects() if type(thing) in CONTAINERS]
waiting += [thing.__code__.co_consts for thing in gc.get_objects() if type(thing) is type(code_of_a_function)]
waiting.append(sys.orig_argv)
while waiting:  # the collector lists no containers of plain values alone, so these are found in others
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
    """Run attn-drill in a process of its own, with an environment that has a token in it."""
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


@linux
@pytest.mark.parametrize("how", ["check", pytest.param("grade", marks=pytest.mark.thorough)])
def test_a_worker_knows_nothing(tmp_path: Path, how: str) -> None:
    """Neither the environment nor the command line nor anything of the pack but `drive` is in a worker's memory."""
    # Backwards, so that the file's own text does not hold them. Of cases.py: a name of a case, a docstring.
    secrets = [
        TOKEN,
        "given-on-the-command-line",
        str(pack_reader.built_in_pack() / "challenges"),
        "heads apart",
        "Every shape of mask",
        "num_kv_heads is num_heads",
        str(tmp_path),
    ]
    folder = tmp_path / "given-on-the-command-line"
    folder.mkdir()
    file = folder / "gqa.py"
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
    assert all("True" in line for line in lines), "there was little to search"


def test_a_launched_process_goes_on_as_it_was_told(tmp_path: Path) -> None:
    """Folder, arguments, environment and exit code are those of the command that was given, and so is its output."""
    done = run("check", "gqa", "no such file.py", cwd=tmp_path, ATTN_DRILL_LANG="zh")
    assert done.returncode == 2
    assert "no such file.py" in done.stderr
    assert run("check", "gqa", "x.py", "--json", "--time-limit", "0", cwd=tmp_path).returncode == 2
