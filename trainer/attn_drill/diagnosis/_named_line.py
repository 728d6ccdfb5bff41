"""Find the lines of a named mistake in a file: by text, by value, by condition or number."""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import dropwhile, takewhile, zip_longest

import torch

from attn_drill.diagnosis._first_wrong import FirstWrong
from attn_drill.diagnosis._recorded_case import RecordedCase
from attn_drill.diagnosis._source_lines import (
    argument_of,
    function_around,
    gives_a_constant,
    innermost_loop,
    line_of_tuple,
)
from attn_drill.diagnosis._value_graph import Node, ValueGraph, have_same_value, leading_to
from attn_drill.model.challenge import Mistake
from attn_drill.packs.mistakes import lines_of, patch_all


def line_of_number(
    recorded: RecordedCase, mistaken: ValueGraph, patched: Collection[int], source: str
) -> int | None:
    """Return the line that makes or passes on the wrong number of a mistake first; None if unknown.

    Example: a constructor stores a wrong scale, and another line multiplies by it.

    Args:
        recorded: the recorded case of the file.
        mistaken: the graph of the reference with the mistake, in the same case.
        patched: the lines that the mistake changed.
    """
    usual = {number for graph in recorded.right_graphs for number in _numbers(graph.nodes)}
    made = [node for node in mistaken.nodes if node.line in patched]
    changed = [number for number in _numbers(made) if not _is_one_of(number, usual)]
    wrong = {form for number in changed for form in _forms(number)}
    own = recorded.graph.nodes
    used = {
        number
        for node in own
        for number in node.numbers
        if _is_one_of(number, wrong) and not _is_one_of(number, usual)
    }
    functions = _function_lines(source)
    for node in own:
        if any(_is_one_of(number, used) for number in _numbers([node])):
            is_argument = node.is_number and node.line in functions
            calls = node.lines[1:] if is_argument else node.lines
            return calls[0] if calls else None  # the case gave the number
    return None


def _numbers(nodes: Iterable[Node]) -> Iterator[float]:
    """Yield Python scalars, and the numbers with which operations compute."""
    for node in nodes:
        yield from node.numbers
        if node.is_number and node.value is not None:
            yield float(node.value)


def _forms(number: float) -> Iterator[float]:
    """Yield the numbers that another notation of the same formula has."""
    yield from (number, -number)
    if number:
        yield 1 / number
    if number > 0:
        yield from (math.sqrt(number), 1 / math.sqrt(number))


def _is_one_of(number: float, others: Collection[float]) -> bool:
    return any(math.isclose(number, other, rel_tol=1e-6) for other in others)


def _function_lines(source: str) -> set[int]:
    """Return the lines at which the arguments of a function get their values."""
    return {
        min([node.lineno, *(found.lineno for found in node.decorator_list)])
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
    }


_Branch = ast.If | ast.IfExp | ast.While
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def line_of_condition(
    wrong_source: str, patched: Collection[int], source: str, graph: ValueGraph, wrong: Node
) -> int | None:
    """Return the line of a file that decides which lines run; None if the mistake is none of these.

    Args:
        wrong_source: the reference with the mistake.
        patched: its lines that the mistake changed.
        source: the text of the file, whose graph and first wrong value follow.
    """
    conditions, loops = set[int](), set[int]()
    for node in ast.walk(ast.parse(wrong_source)):
        if isinstance(node, _Branch):
            conditions.update(_lines(node.test))
        elif isinstance(node, ast.For):
            loops.update(_lines(node.iter))
    if loops.issuperset(patched):
        return _loop_around(source, wrong)
    if conditions.issuperset(patched):
        visited = {line for node in graph.nodes for line in node.lines}
        return _line_that_skips(source, wrong.lines, visited)
    return None


def _lines(*nodes: ast.expr | ast.stmt) -> range:
    return range(nodes[0].lineno, (nodes[-1].end_lineno or nodes[-1].lineno) + 1)


def _loop_around(source: str, wrong: Node) -> int | None:
    """Return the line of the loop around a wrong value, or around the line before it."""
    before = [node.line for node in leading_to([wrong]) if node.lines and node.line != wrong.line]
    for line in (wrong.line, *before[-1:]):
        if (loop := innermost_loop(source, line)) != line:
            return loop
    return None


def _line_that_skips(source: str, calls: Sequence[int], visited: set[int]) -> int | None:
    """Return the line that decides that a block before a wrong value does not run.

    The block sets a variable that the line of the wrong value, or a line that calls it, reads.

    Args:
        calls: the lines of the wrong value, innermost first.
        visited: the lines of the file that made a result.
    """
    tree = ast.parse(source)
    for depth, line in enumerate(calls):
        function = function_around(tree, line)
        if function is None:
            continue
        names = _names_read(function, line)
        skipping: ast.If | None = None
        for branch in ast.walk(function):
            if not isinstance(branch, ast.If) or branch.lineno >= line:
                continue
            blocks = [_lines(*block) for block in (branch.body, branch.orelse) if block]
            is_skipped = any(map(visited.isdisjoint, blocks))  # a block made no result
            if is_skipped and not names.isdisjoint(_names(branch, ast.Store)):
                skipping = branch
        if skipping is not None:
            return _line_that_decides(tree, skipping, calls[depth:])
    return None


def _names_read(function: _Function, line: int) -> set[str]:
    """Return the names that the innermost statement at a line reads."""
    statements = [
        node for node in ast.walk(function) if isinstance(node, ast.stmt) and line in _lines(node)
    ]
    return _names(max(statements, key=lambda node: node.lineno, default=function), ast.expr_context)


def _names(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    return {
        name.id
        for name in ast.walk(node)
        if isinstance(name, ast.Name) and isinstance(name.ctx, context)
    }


def _line_that_decides(tree: ast.AST, branch: ast.If, calls: Sequence[int]) -> int:
    """Return the line of a branch, or the line that sets the only variable that it tests.

    The variable may be an argument. Then the search goes on in the function that calls.
    """
    line, name = branch.lineno, _tested(branch.test)
    for call, outer in zip(calls, (*calls[1:], None), strict=True):
        function = function_around(tree, call)
        while name and function and (found := _assignment(function, name, line)) is not None:
            line, name = found.lineno, _tested(found.value)
        if name is None or function is None or outer is None:
            break
        given = argument_of(tree, function, name, outer)
        if given is None:
            break
        line, name = outer, _tested(given)
    return line


def _tested(test: ast.expr) -> str | None:
    """Return the variable in a condition `x`, `not x` or `x is None`; None for all others."""
    match test:
        case ast.Name(name) | ast.Compare(ast.Name(name), [ast.Is() | ast.IsNot()]):
            return name
        case ast.UnaryOp(ast.Not(), operand):
            return _tested(operand)
    return None


def _assignment(function: _Function, name: str, before: int) -> ast.Assign | None:
    """Return the last assignment to a variable before a line."""
    found = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        and node.lineno < before
        and any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
    ]
    return max(found, key=lambda node: node.lineno, default=None)


_COMMENT = re.compile(r"\s*#.*$")


def is_omission(reference: str, mistake: Mistake) -> bool:
    """Return whether a mistake only leaves out operations of the reference."""
    right, wrong = _operations(reference), _operations(patch_all(reference, [mistake], ""))
    return wrong < right


def _operations(source: str) -> Counter[str]:
    """Count the operations of a file: calls by name, arithmetic, comparisons and slices."""
    found: Counter[str] = Counter()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(ast.Name("float") | ast.Attribute(ast.Name("math"))):
                continue  # a number
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
        source: the text of the file.
        is_planted: whether a bug hunt put the mistake into the file. Then lines that were moved
            count too, and so do lines that were left out.
    """
    texts = reference, patch_all(reference, [mistake], ""), source
    right, wrong, own = map(_code_of, texts)
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
    return None


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


def patched_lines(reference: str, mistake: Mistake) -> Collection[int]:
    """Return the lines of the reference with a mistake that the mistake changed or added.

    If it only left lines out, the line after them is returned.
    """
    right, wrong = _code_of(reference), _code_of(patch_all(reference, [mistake], ""))
    changes = _changes([text for _, text in right], [text for _, text in wrong])
    added = [wrong[index] for *_, start, end in changes for index in range(start, end)]
    left = [right[index][1].strip() for _, start, end, *_ in changes for index in range(start, end)]
    new = {number for number, text in added if text.strip() not in left}
    return new or {number for number, _ in added} or {lines_of(reference, mistake).start}


@dataclass(frozen=True)
class NamedMistake:
    """A named mistake in a recorded case of a file.

    Attributes:
        recorded: the recorded case of the file.
        mistaken: the graph of the reference with the mistake, in the same case.
        wrong_source: the text of the reference with the mistake.
        patched: the lines of this text that the mistake changed or added.
        source: the text of the file.
    """

    recorded: RecordedCase
    mistaken: ValueGraph
    wrong_source: str
    patched: Collection[int]
    source: str

    def line(self, first: FirstWrong, *, is_missing: bool) -> int | None:
        """Return the line of the mistake; None if the first wrong value shows it as well.

        Args:
            first: the first wrong value of the file.
            is_missing: whether the mistake only leaves out operations.
        """
        graph, patched = self.recorded.graph, self.patched
        line = line_of_number(self.recorded, self.mistaken, patched, self.source)
        if line is None:
            line = line_of_condition(self.wrong_source, patched, self.source, graph, first.node)
        if line is None:
            line = self._line_of_parts(first)
        if line is None and self.recorded.right.has(first.node):  # in another layout
            line = self._line_of_equal_value(is_new=True)
        if line is None and not is_missing:
            line = self._line_of_result(first)
        return line

    def line_without_wrong_value(self) -> int | None:
        """Return the line that makes a value of the changed lines; None if none does.

        The value is wrong, or the reference has no such operation, for example a write in place.
        """
        usual = {node.operation for node in self.recorded.reference.nodes}
        for node in self._made:
            is_usual = node.operation in usual
            if not node.is_comparable or (is_usual and not self._is_other_value(node)):
                continue
            for own in self.recorded.graph.nodes:
                if self._is_twin(node, own) and (is_usual or own.operation not in usual):
                    return own.line
        return self._line_of_equal_value(is_new=False)

    def gap(self, left_out: Collection[int]) -> tuple[int | None, int] | None:
        """Return the lines around a missing operation; None if they are unknown.

        The first makes the value to which the reference applies the operation (None for an input),
        and the second uses it.

        Args:
            left_out: the lines of the reference whose operation the mistake leaves out.
        """
        nodes = self.recorded.graph.nodes
        for node in self.recorded.reference.nodes:
            for given in node.parents:
                if node.line not in left_out or given.line in left_out or not given.is_comparable:
                    continue
                values = {own for own in nodes if self._is_twin(given, own)}
                if given.is_input:
                    values = {own for own in nodes if own.operation == given.operation}
                before = min(values).lines[:1] if values else ()
                for user in nodes:
                    if user.lines and user.lines[:1] != before and values & {*user.parents}:
                        return (before[0] if before else None), user.line
        return None

    @property
    def _made(self) -> list[Node]:
        """The results of the changed lines."""
        return [node for node in self.mistaken.nodes if node.line in self.patched]

    def _is_other_value(self, node: Node) -> bool:
        """Return whether a value can be compared and the right answers do not compute it."""
        return node.is_comparable and not self.recorded.right.has(node, may_swap=False)

    def _is_wrong(self, own: Node) -> bool:
        """Return whether a line of the file makes another value than right answers, NaN or +inf."""
        if not own.lines or own.value is None:
            return False
        return self._is_other_value(own) or not bool((own.value < torch.inf).all())

    def _is_twin(self, node: Node, own: Node) -> bool:
        """Return whether a line of the file makes the value of a node."""
        if not own.lines or own.is_number != node.is_number:
            return False
        if node.is_number:
            return node.scalar == own.scalar
        return have_same_value(node, own, self.recorded.sizes)

    def _line_of_equal_value(self, *, is_new: bool) -> int | None:
        """Return the line that makes a value of the changed lines, in the same layout.

        This finds values with few different entries, and right values in a wrong layout.

        Args:
            is_new: whether no right answer may have the value. Otherwise right answers may make it
                by another operation, for example zeros for another sum, and the mistake is not
                after the first wrong value.
        """
        nodes = self.recorded.graph.nodes
        early = list(takewhile(lambda own: not self._is_wrong(own), nodes))
        right = [node for graph in self.recorded.right_graphs for node in graph.nodes]
        for node in self._made:
            makers = {other.operation for other in right if _is_equal(node, other)}
            if node.entries < 2 or node.operation in makers or (is_new and makers):
                continue
            for own in early if makers else nodes:
                if own.lines and own.operation not in makers and _is_equal(node, own):
                    line, *calls = own.lines
                    is_chosen = calls and gives_a_constant(self.source, calls[0], line)
                    return calls[0] if is_chosen else line
        return None

    def _line_of_parts(self, first: FirstWrong) -> int | None:
        """Return the line that splits or returns right values as the changed lines do.

        The changed lines make no wrong value, but give right values wrong names or places.
        """
        visit = dropwhile(
            lambda node: node.line not in self.patched, self.mistaken.leading_to_outputs
        )
        made = list(takewhile(lambda node: node.line in self.patched, visit))
        if any(map(self._is_other_value, made)):
            return None
        parts = [node for node in made if node.is_comparable and _is_part(node, made)]
        by_visit: dict[tuple[tuple[int, ...], bool], list[Node]] = {}
        for own in self.recorded.graph.nodes[: first.node.index]:
            by_visit.setdefault((own.lines, own.operation == "return"), []).append(own)
        for (lines, is_return), nodes in by_visit.items():
            wanted = [node for node in parts if (node.operation == "return") == is_return]
            if len(wanted) > 1 and all(
                any(self._is_twin(node, own) for own in nodes) for node in wanted
            ):
                return line_of_tuple(self.source, lines[0]) if is_return else lines[0]
        return None

    def _line_of_result(self, first: FirstWrong) -> int | None:
        """Return the line of the file whose result is the wrong result of a changed line.

        A line that calls a function has the result of the function. If a line and a line inside its
        call have this result, the line inside is returned, unless the changed line is such a call.
        A line after the first wrong value does not count, unless the mistake makes this value too
        before its changed lines, and the line is in the same call.
        """
        depth = depth_of(self.mistaken, self.patched)
        is_before = self._is_before_the_changes(first.node)
        results = [
            (lines, node)
            for lines, node in _results(self.recorded.graph)
            if node.index <= first.node.index
            or (is_before and lines[1:] == first.node.lines[1:])
            or self._is_chosen_by_a_call(lines, first, depth)
        ]
        for lines, node in _results(self.mistaken):
            if lines[0] not in self.patched or not self._is_other_value(node):
                continue
            before = self.mistaken.nodes[: node.index]
            if any(
                other.line not in self.patched and self._is_twin(other, node) for other in before
            ):
                continue  # the line changes nothing, so a step is missing
            found = [own for own, value in results if self._is_twin(node, value)]
            if found:
                return min(
                    found, key=lambda own: -len(own) if depth is None else abs(len(own) - depth)
                )[0]
        return None

    def _is_before_the_changes(self, wrong: Node) -> bool:
        """Return whether the mistake makes a value from this wrong value before its changed lines.

        Example: a softmax without a mask, if the mistake hides the weights after the softmax.
        """
        start = min((node.index for node in self._made), default=0)
        earlier = [node for node in self.mistaken.nodes[:start] if self._is_other_value(node)]
        twins = [
            own
            for own in self.recorded.graph.nodes
            if any(self._is_twin(node, own) for node in earlier)
        ]
        return wrong in leading_to(twins)

    def _is_chosen_by_a_call(
        self, lines: tuple[int, ...], first: FirstWrong, depth: int | None
    ) -> bool:
        """Return whether a wrong value is made inside a call that may be the mistake itself.

        It is the mistake if the changed line is a call too, or if it gives a constant, for example
        the axis of a softmax.
        """
        inner = first.node.lines
        if inner[-len(lines) :] != lines:
            return False
        return inner == lines or bool(depth) or gives_a_constant(self.source, lines[0], inner[0])


def depth_of(mistaken: ValueGraph, patched: Collection[int]) -> int | None:
    """Return the number of lines in the call stack of a changed line that calls a function.

    Returns:
        None if no changed line calls a function of the reference. Then the mistake is in a
        computation, and in the file it may be inside a function.
    """
    depths = [
        len(node.lines) - place
        for node in mistaken.nodes
        for place, line in enumerate(node.lines)
        # A generator expression has its line twice in the call stack.
        if line in patched and node.lines[0] != line
    ]
    return min(depths, default=None)


def _results(graph: ValueGraph) -> Iterator[tuple[tuple[int, ...], Node]]:
    """Yield each visit of a line, as the line and its callers, with the last result in it."""
    nodes = [node for node in graph.leading_to_outputs if node.lines and node.is_comparable]
    for node, after in zip_longest(nodes, nodes[1:]):
        for depth in range(len(node.lines)):
            lines = node.lines[depth:]
            if after is None or after.lines[-len(lines) :] != lines:
                yield lines, node


def _is_equal(node: Node, other: Node) -> bool:
    """Return whether two values are equal without a change of layout."""
    if node.value is None or other.value is None or node.value.shape != other.value.shape:
        return False
    if node.is_float and other.is_float:
        return torch.allclose(node.value.double(), other.value.double(), rtol=1e-4, atol=1e-6)
    return torch.equal(node.value, other.value)


def _is_part(node: Node, made: Collection[Node]) -> bool:
    """Return whether a result is returned, or is one of several results of an operation."""
    return node.operation == "return" or any(
        other is not node and (other.operation, other.parents) == (node.operation, node.parents)
        for other in made
    )
