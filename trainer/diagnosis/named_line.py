"""Find the line of a named mistake in a file.

A file with a named mistake behaves like the reference with this mistake. So the line to show is
the line that has the text of the mistake, or the same statement with other names of variables, or
the only place where the file differs from the reference, or the line that makes the values of the
mistake's own lines.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from itertools import takewhile, zip_longest

import torch

from trainer.diagnosis.first_wrong import FirstWrong
from trainer.diagnosis.graph_queries import have_same_value
from trainer.diagnosis.recorded_case import RecordedCase
from trainer.diagnosis.value_graph import Node, ValueGraph
from trainer.model.challenge import Mistake
from trainer.packs.mistakes import lines_of, patch_all

_COMMENT = re.compile(r"\s*#.*$")
_FEW_LINES = 2  # of a difference from the reference that is shown as the place of a mistake
_COMPUTATION = ast.Call | ast.BinOp | ast.Compare | ast.Subscript


def is_omission(reference: str, mistake: Mistake) -> bool:
    """Return whether a mistake only leaves out operations of the reference."""
    right, wrong = _operations(reference), _operations(patch_all(reference, [mistake], ""))
    return wrong < right


def _operations(source: str) -> Counter[str]:
    """Count the operations of a file: calls by name, arithmetic, comparisons and slices."""
    found: Counter[str] = Counter()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call():
                found[ast.unparse(node.func)] += 1
            case ast.BinOp() | ast.AugAssign():
                found[type(node.op).__name__] += 1
            case ast.Compare() | ast.Subscript():
                found[type(node).__name__] += 1
    return found


def line_by_text(
    reference: str, mistake: Mistake, source: str, *, is_planted: bool = False
) -> tuple[int, int] | None:
    """Return the first and the last line of a mistake in a file; None if its text is not there.

    Both are the same line, except for a line that a hunt left out. Then they are the lines before
    and after the gap, or the line before it twice if the gap is at the end of a block.

    Args:
        reference: the text of the reference.
        mistake: the mistake.
        source: the text of the file.
        is_planted: whether a bug hunt put the mistake into the file. Then lines that were moved
            count too, and so do lines that were left out.
    """
    wrong_source = patch_all(reference, [mistake], "")
    right, wrong, own = (_code_of(text) for text in (reference, wrong_source, source))
    places = _matched([text for _, text in wrong], [text for _, text in own])
    changes = _changes([text for _, text in right], [text for _, text in wrong])
    moved = {text.strip() for _, text in right}
    for tag, first_right, _, start, end in changes:
        if tag == "delete" and is_planted:
            before, after = places.get(start - 1), places.get(start)
            if before is not None and after == before + 1:
                is_in_block = _indent(own[after][1]) >= _indent(right[first_right][1])
                return own[before][0], own[after if is_in_block else before][0]
        for index in range(start, end):
            text = wrong[index][1].strip()
            may_be_elsewhere = text in moved or text.startswith("with ")
            if index in places and (is_planted or not may_be_elsewhere):
                return (own[places[index]][0],) * 2
    line = _line_of_statement(reference, wrong_source, source)
    if line is None and not is_planted:
        own_changes = _changes([text for _, text in right], [text for _, text in own])
        if len(own_changes) == 1:
            (_, first, last, start, end) = own_changes[0]
            # The values show best where a step is missing.
            if last - first <= _FEW_LINES and 0 < end - start <= _FEW_LINES:
                line = own[start][0]
    return None if line is None else (line, line)


def _code_of(source: str) -> list[tuple[int, str]]:
    """Return the lines with code, with their numbers, without comments at their ends."""
    numbered = enumerate((_COMMENT.sub("", line) for line in source.splitlines()), 1)
    return [(number, text) for number, text in numbered if text.strip()]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _changes(was: list[str], now: list[str]) -> list[tuple[str, int, int, int, int]]:
    found = SequenceMatcher(None, was, now, autojunk=False).get_opcodes()
    return [change for change in found if change[0] != "equal"]


def _matched(first: list[str], second: list[str]) -> dict[int, int]:
    """Return the index in the second list of each line of the first list that stayed."""
    blocks = SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks()
    return {block.a + offset: block.b + offset for block in blocks for offset in range(block.size)}


def _line_of_statement(reference: str, wrong_source: str, source: str) -> int | None:
    """Return the line of a statement that only the mistake has, whatever its variables are called.

    The statement must occur once in the file.
    """
    added = Counter(form for form, _ in _statements(wrong_source))
    added -= Counter(form for form, _ in _statements(reference))
    own = list(_statements(source))
    count = Counter(form for form, _ in own)
    return next((line for form, line in own if form in added and count[form] == 1), None)


def _statements(source: str) -> Iterator[tuple[str, int]]:
    """Yield each statement with numbers for its variables, and its line.

    A statement with a block is yielded without the block. Short statements are left out, because
    different code may have them.
    """
    tree = ast.parse(source)
    variables = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    } | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    for statement in ast.walk(tree):
        if not isinstance(statement, ast.stmt) or isinstance(
            statement, ast.ClassDef | ast.FunctionDef | ast.Import | ast.ImportFrom
        ):
            continue
        for block in ("body", "orelse", "handlers", "finalbody"):
            if hasattr(statement, block):
                setattr(statement, block, [])
        numbers: dict[str, str] = {}
        parts = list(ast.walk(statement))
        for node in parts:
            if isinstance(node, ast.Name) and node.id in variables:
                node.id = numbers.setdefault(node.id, str(len(numbers)))
        if sum(isinstance(node, _COMPUTATION) for node in parts) > 1:
            yield ast.dump(statement), statement.lineno


def line_by_values(
    recorded: RecordedCase, mistaken: ValueGraph, reference: str, mistake: Mistake
) -> int | None:
    """Return the line that makes a value of the mistake's own lines; None if none does.

    The value is wrong, or the reference has no such operation, for example a write in place.

    Args:
        recorded: the recorded case of the file.
        mistaken: the graph of the reference with the mistake, in the same case.
        reference: the text of the reference.
        mistake: the named mistake.
    """
    patched = patched_lines(reference, mistake)
    usual = {node.operation for node in recorded.reference.nodes}
    made = [node for node in mistaken.nodes if node.line in patched]
    for node in made:
        is_usual = node.operation in usual
        if not node.is_comparable or (is_usual and not _is_other_value(node, recorded)):
            continue
        for own in recorded.graph.nodes:
            if _is_twin(node, own, recorded.sizes) and (is_usual or own.operation not in usual):
                return own.line
    right = recorded.reference.nodes
    # The mistake is not after the first wrong value.
    early = list(takewhile(lambda own: not _is_wrong(own, recorded), recorded.graph.nodes))
    for node in made:
        # The reference may have the constant too, for example zeros for another sum.
        makers = {other.operation for other in right if _is_same_constant(node, other)}
        for own in early:
            if own.lines and own.operation not in makers and _is_same_constant(node, own):
                return own.line
    return None


def patched_lines(reference: str, mistake: Mistake) -> range:
    """Return the lines of the reference with a mistake that the mistake changed or added."""
    first = lines_of(reference, mistake).start
    return range(first, first + mistake.now.rstrip("\n").count("\n") + 1)


def depth_of(mistaken: ValueGraph, patched: range, *, is_call: bool) -> int | None:
    """Return the number of lines in the call stack of a patched line; None if none ran.

    Args:
        mistaken: the graph of the reference with the mistake.
        patched: the lines that the mistake changed.
        is_call: count only lines that call a function of the reference. If no patched line does,
            the mistake is in a computation, and in the file it may be inside a function.
    """
    depths = [
        len(node.lines) - place
        for node in mistaken.nodes
        for place, line in enumerate(node.lines)
        if line in patched and (place or not is_call)
    ]
    return min(depths, default=None)


def line_of_result(
    recorded: RecordedCase, mistaken: ValueGraph, patched: range, first: FirstWrong
) -> int | None:
    """Return the line of the file whose result is the wrong result of a patched line.

    A line that calls a function has the result of the function. If a line and a line inside its
    call have this result, the line inside is returned, unless the patched line is such a call. A
    line after the first wrong value does not count.

    Args:
        recorded: the recorded case of the file.
        mistaken: the graph of the reference with the mistake, in the same case.
        patched: the lines that the mistake changed.
        first: the first wrong value of the file.
    """
    sizes = recorded.sizes
    depth = depth_of(mistaken, patched, is_call=True)
    results = [
        (lines, node)
        for lines, node in _results(recorded.graph)
        if node.index <= first.node.index or first.node.lines[-len(lines) :] == lines
    ]
    for lines, node in _results(mistaken):
        if lines[0] not in patched or not _is_other_value(node, recorded):
            continue
        before = mistaken.nodes[: node.index]
        if any(other.line not in patched and _is_twin(other, node, sizes) for other in before):
            continue  # the line changes nothing, so a step is missing
        found = [own for own, value in results if _is_twin(node, value, sizes)]
        if found:
            return min(
                found, key=lambda own: -len(own) if depth is None else abs(len(own) - depth)
            )[0]
    return None


def _results(graph: ValueGraph) -> Iterator[tuple[tuple[int, ...], Node]]:
    """Yield each visit of a line, as the line and its callers, with the last result in it."""
    nodes = [node for node in graph.leading_to_outputs if node.lines and node.is_comparable]
    for node, after in zip_longest(nodes, nodes[1:]):
        for depth in range(len(node.lines)):
            lines = node.lines[depth:]
            if after is None or after.lines[-len(lines) :] != lines:
                yield lines, node


def _is_other_value(node: Node, recorded: RecordedCase) -> bool:
    """Return whether a value can be compared and the right answers do not compute it."""
    return node.is_comparable and not recorded.right.has(node, may_swap=False)


def _is_wrong(node: Node, recorded: RecordedCase) -> bool:
    """Return whether a line of the file makes another value than right answers, NaN or +inf."""
    if not node.lines or node.value is None:
        return False
    return _is_other_value(node, recorded) or not bool((node.value < torch.inf).all())


def _is_same_constant(node: Node, own: Node) -> bool:
    """Return whether two values are equal that have too few entries to be compared elsewhere."""
    if node.features is not None or node.value is None or own.value is None or node.entries < 2:
        return False
    return torch.equal(node.value, own.value)


def _is_twin(node: Node, own: Node, sizes: Mapping[str, int]) -> bool:
    """Return whether a line of the file makes the value of a node."""
    if not own.lines or own.is_number != node.is_number:
        return False
    return node.scalar == own.scalar if node.is_number else have_same_value(node, own, sizes)
