"""`check` for notebooks: grade live classes and functions, and show the report that `attn-drill check` shows.

A kernel has threads and may have torch at work in them, and such a process must not fork. So the grading runs in a fresh interpreter, which gets
the source as JSON on stdin and gives the report as JSON on stdout.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from trainer.app.packs import open_packs
from trainer.content.packs import TRAINER
from trainer.core.words import Challenge, DrillError, GraderError
from trainer.notebook.definitions import is_own_module
from trainer.notebook.live_source import assembled
from trainer.practice.files import read_source

# The package is found where this one lies, and nothing else is shadowed by what lies beside it.
_CHILD = "import sys; sys.path.insert(0, sys.argv[1]); import trainer; del sys.path[0]; from trainer.notebook.grader import answer; answer()"


class NotebookError(DrillError):
    """A sentence for the user, which a notebook shows without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [f"attn-drill: {self}"]


@dataclass(frozen=True, repr=False)
class Checked:
    """What `check` found. It shows itself as the report, in a notebook and on a terminal.

    report  the object that `attn-drill check --json` prints
    source  the file that was graded; the report's lines are its lines
    text    the report for a terminal
    page    the report as HTML
    """

    report: dict[str, Any]
    source: str
    text: str
    page: str

    @property
    def passed(self) -> bool:
        """Whether every check holds."""
        return bool(self.report["verdict"] == "passed")

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.page


def check(
    challenge_id: str, *implementations: object, seed: int | None = None, why: bool = True
) -> Checked:
    """Grade live classes or functions as `attn-drill check` grades a file.

    Args:
        challenge_id: the challenge, e.g. "gqa".
        implementations: what it asks for: a class, functions, a dict from the asked names to them, or a module.
        seed: grade on the cases of this seed; fresh ones by default.
        why: name the likely mistake, or hold it back as an interview does.

    Raises:
        DrillError: where the source cannot be put together, or what is given is not what is asked; the sentence says what to do.
        GraderError: where the grader itself failed.
    """
    try:
        challenge = open_packs().find(challenge_id)
        label, source, call = _source(challenge, implementations)
    except DrillError as error:
        raise NotebookError(str(error)) from None
    if seed is not None and not isinstance(seed, int):
        raise NotebookError(
            f"seed is {seed!r}; it must be a whole number, or None for fresh cases."
        )
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    look = {
        "why": why,
        "width": shutil.get_terminal_size().columns,
        "unicode": encoding.lower().startswith("utf"),
    }
    found = _ask(
        {
            "challenge": challenge_id,
            "source": source,
            "label": label,
            "call": call,
            "seed": seed,
            **look,
        }
    )
    return Checked(found["report"], source, found["text"], found["page"])


def _source(challenge: Challenge, implementations: tuple[object, ...]) -> tuple[str, str, str]:
    """What the report calls the file, its text, and how `check` was called; no call where there is a file."""
    asked = ", ".join(challenge.entry)
    if not implementations:
        raise DrillError(
            f'check("{challenge.id}") has nothing to grade; {challenge.id} asks for {asked}. Give it: check("{challenge.id}", {asked}).'
        )
    if len(implementations) == 1 and isinstance(implementations[0], ModuleType):
        return _module(implementations[0])
    entries = _entries(challenge, implementations)
    names = [str(getattr(one, "__name__", entry)) for entry, one in entries.items()]
    shown = ", ".join(names) if len(names) < 3 else f"{names[0]} and {len(names) - 1} more"
    call = "{…}" if isinstance(implementations[0], Mapping) else ", ".join(names)
    return f"{challenge.id} (from {shown})", assembled(entries), call


def _module(module: ModuleType) -> tuple[str, str, str]:
    file = getattr(module, "__file__", None)
    if not is_own_module(module):
        raise DrillError(
            f"{module.__name__} is no module of yours. Give a module that you wrote, or the class or functions themselves."
        )
    if not isinstance(file, str) or not file.endswith(".py"):
        raise DrillError(
            f"The module {module.__name__} has no Python file. Give the class or functions themselves."
        )
    return file, read_source(Path(file)), ""


def _entries(challenge: Challenge, implementations: tuple[object, ...]) -> dict[str, object]:
    """Each asked name with what was given for it: by a dict, by its own name, or as the only one left."""
    if len(implementations) == 1 and isinstance(implementations[0], Mapping):
        given = dict(implementations[0])
    else:
        given = {}
        for one in implementations:
            if not callable(one) or not hasattr(one, "__name__"):
                raise DrillError(
                    f"check got {_described(one)}; {challenge.id} asks for {', '.join(challenge.entry)}. Give the class or function itself."
                )
            given[one.__name__] = one
        missing = [name for name in challenge.entry if name not in given]
        others = [name for name in given if name not in challenge.entry]
        if len(missing) == len(others) == 1:
            given[missing[0]] = given.pop(others[0])
    if set(given) != set(challenge.entry):
        asked, got = ", ".join(challenge.entry), ", ".join(map(str, given)) or "none"
        example = f'check("{challenge.id}", {{"{challenge.entry[0]}": yours, …}})'
        raise DrillError(
            f"{challenge.id} asks for {asked}; check got {got}. Give these, or say which is which: {example}."
        )
    return {name: given[name] for name in challenge.entry}


def _described(value: object) -> str:
    """`an object of class Tensor`."""
    return (
        repr(value)
        if isinstance(value, str | int | float)
        else f"an object of class {type(value).__name__}"
    )


def _ask(order: Mapping[str, object]) -> dict[str, Any]:
    """Grade in a fresh interpreter; an interrupt ends it too."""
    if not sys.executable:
        raise GraderError(
            "This Python does not say where its interpreter is, and grading needs a fresh one. Save your answer and run `attn-drill check ID FILE`."
        )
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", _CHILD, str(TRAINER.parent)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        start_new_session=True,  # one interrupt, from here, and not a second one from the terminal
    )
    try:
        reply, said = process.communicate(json.dumps(order).encode())
    except BaseException:
        _end(process)
        raise
    trouble = said.decode(errors="replace").strip()
    try:
        found: dict[str, Any] = json.loads(reply)
    except ValueError:
        last = trouble.splitlines()[-1] if trouble else f"exit code {process.returncode}"
        raise GraderError(
            f"The grader ended without a report: {last}. `attn-drill doctor` says what this machine has."
        ) from None
    if trouble:
        print(trouble, file=sys.stderr)
    if "error" in found:
        raise NotebookError(found["error"]) if found["code"] == 2 else GraderError(found["error"])
    return found


def _end(process: subprocess.Popen[bytes]) -> None:
    """Interrupt the grader, so that it ends its workers; kill it where it does not end."""
    try:
        process.send_signal(signal.SIGINT)
        process.wait(5)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.kill()
        process.wait()
