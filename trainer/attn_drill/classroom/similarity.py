"""Find submissions with the same text, and pairs of submissions that are similar.

Both are hints to read the files, and no proof: on a short challenge, students who work alone write
the same lines.
"""

from __future__ import annotations

import ast
import contextlib
import io
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import filterfalse
from pathlib import Path
from typing import NamedTuple

from attn_drill.classroom.anonymity import NOT_PYTHON, parsed
from attn_drill.model.errors import DrillError

# Our own answers in other styles share at most 0.4, and renamed copies 1.
# tests/classroom/test_similarity.py measures both.
LEAST_SHARE = 0.6
_LEAST_SHARED = 100  # characters, after names became single letters; less is in every file
_RUN = 25  # characters without a gap that two files must share
# The field of each node that may hold a name of the file's own.
_NAMES = {
    ast.FunctionDef: "name",
    ast.AsyncFunctionDef: "name",
    ast.ClassDef: "name",
    ast.Name: "id",
    ast.Attribute: "attr",
    ast.arg: "arg",
    ast.keyword: "arg",
    ast.alias: "asname",
}


@dataclass(frozen=True)
class SameText:
    """Files that differ in layout, comments and names only."""

    students: tuple[str, ...]  # who handed in the files, at least one
    answers: tuple[str, ...]  # the published answers with this text, for example "solution.py"


class Pair(NamedTuple):
    """Two students whose files share more than the known texts explain."""

    student: str
    other: str
    share: float  # the greater share of a file that the other file has, too, 0 to 1


def same_text(sources: Mapping[str, str], answers: Mapping[str, str]) -> list[SameText]:
    """Return the groups of files with the same text as each other or as an answer.

    The sources are by student. The answers are the published texts by name: right answers, stubs.
    """
    students, published = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for names, texts in ((students, sources), (published, answers)):
        for name, text in texts.items():
            names[_normal_form(text)].append(name)
    groups = (SameText(tuple(names), tuple(published[form])) for form, names in students.items())
    return [group for group in groups if len(group.students) > 1 or group.answers]


def _normal_form(source: str) -> str:
    """Return a text that does not depend on layout, comments, messages and the file's own names.

    These names are numbered in the order in which they appear.
    """
    try:
        nodes = list(ast.walk(parsed(source)))
        named = [(node, _NAMES[type(node)]) for node in nodes if type(node) in _NAMES]
        bound = {
            getattr(node, field)
            for node, field in named
            if not isinstance(getattr(node, "ctx", node), ast.Load | ast.keyword)
        }
        numbers: dict[str, str] = {}
        for node, field in named:
            name = getattr(node, field)
            if name and name in bound:
                setattr(node, field, numbers.setdefault(name, f"name {len(numbers)}"))
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                node.value = node.value if "->" in node.value else ""  # keep a pattern of einsum
            body = getattr(node, "body", None)
            if isinstance(body, list):
                node.body = list(filterfalse(_is_text, body))  # type: ignore[attr-defined]
        return ast.dump(nodes[0])
    except NOT_PYTHON:
        return source.strip()


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def check_similarity() -> None:
    """Raise DrillError if the library that compares submissions is not installed."""
    if find_spec("copydetect") is None:
        raise DrillError(
            "The format similar needs the package copydetect, which is not installed. "
            "Install it: pip install 'attn-drill[similar]'."
        )


def similar_pairs(sources: Mapping[str, str], public: Iterable[str]) -> list[Pair]:
    """Return the pairs of students whose files are similar, the most similar pair first.

    The library copydetect writes one letter for each name and each string of a file, drops layout
    and comments, and compares runs of the rest. The public texts, which are stubs and right
    answers, explain a similarity.
    """
    check_similarity()
    from copydetect import CopyDetector  # noqa: PLC0415  # an extra; slow to import

    students = list(sources)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
        _write_files(Path(folder) / "handed_in", sources.values())
        _write_files(Path(folder) / "public", public)
        detector = CopyDetector(
            test_dirs=[f"{folder}/handed_in"],
            boilerplate_dirs=[f"{folder}/public"],
            extensions=["py"],
            noise_t=_RUN,
            guarantee_t=_RUN,
            display_t=LEAST_SHARE,
            silent=True,
            autoopen=False,
        )
        detector.run()
        rows = detector.get_copied_code_list() if len(students) > 1 else []
    pairs = []
    for share, other_share, file, other_file, _, _, shared in rows:
        if shared < _LEAST_SHARED:
            continue
        names = sorted(students[int(Path(path).stem)] for path in (file, other_file))
        pairs.append(Pair(names[0], names[1], float(max(share, other_share))))
    return sorted(pairs, key=lambda pair: (-pair.share, pair.student, pair.other))


def _write_files(folder: Path, texts: Iterable[str]) -> None:
    folder.mkdir()
    for index, text in enumerate(texts):
        # pygments needs quadratic time for long runs of blanks.
        lines = "\n".join(line.rstrip() for line in text.splitlines())
        (folder / f"{index}.py").write_text(lines, encoding="utf-8", errors="replace")
