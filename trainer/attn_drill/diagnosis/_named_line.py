"""Find the lines of a named mistake in a file: by text, by value, by condition or number."""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from difflib import SequenceMatcher
from itertools import dropwhile, takewhile, zip_longest

import torch

from attn_drill.diagnosis._first_wrong import FirstWrong
from attn_drill.diagnosis._recorded_case import RecordedCase
from attn_drill.diagnosis._source_lines import (
    function_around,
    gives_a_constant,
    innermost_loop,
    lines_of_node,
)
from attn_drill.diagnosis._value_graph import Node, ValueGraph, have_same_value, leading_to
from attn_drill.model.challenge import Mistake
from attn_drill.packs.mistakes import lines_of, patch_all

MOST_LINES = 8  # of a span before its last line: a reader sees them at once
_WORD = re.compile(r"\w+")


def lines_of_number(
    recorded: RecordedCase, changed: Iterable[Node], source: str
) -> tuple[int, int] | None:
    """Return the lines that make or pass on the wrong number of a mistake first; None if unknown.

    Example: a constructor stores a wrong scale, and another line multiplies by it.

    Args:
        changed: the results of the changed lines of the reference with the mistake.
    """
    usual = {number for graph in recorded.right_graphs for number in _numbers(graph.nodes)}
    numbers = [number for number in _numbers(changed) if not _is_one_of(number, usual)]
    wrong = {form for number in numbers for form in _forms(number)}
    actual = recorded.graph.nodes
    used = {
        number
        for node in actual
        for number in node.numbers
        if _is_one_of(number, wrong) and not _is_one_of(number, usual)
    }
    # The arguments of a function get their values at its first line.
    functions = {
        lines_of_node(node).start
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef)
    }
    for node in actual:
        if any(_is_one_of(number, used) for number in _numbers([node])):
            is_argument = node.is_number and node.line in functions
            calls = node.lines[1:] if is_argument else node.lines
            if not calls:  # the case gave the number
                return None
            return start_of_number(recorded.graph, calls, source), calls[0]
    return None


def start_of_number(graph: ValueGraph, lines: tuple[int, ...], source: str) -> int:
    """Return the first line of the same call that makes a number with which a line computes."""
    text, (line, *calls) = source.splitlines(), lines
    start, names = line, set(_WORD.findall(text[line - 1]))
    for node in reversed(graph.nodes):
        here, *outside = node.lines or (0,)
        is_before = line - MOST_LINES <= here < line and outside == calls
        if is_before and node.is_number and node.name in names:
            start = min(start, here)
            names.update(_WORD.findall(text[here - 1]))
    return start


def has_other_number(node: Node, right_graphs: Iterable[ValueGraph]) -> bool:
    """Return whether an operation computes with a number that no right answer has."""
    usual = {number for graph in right_graphs for number in _numbers(graph.nodes)}
    return not all(_is_one_of(number, usual) for number in node.numbers)


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
        if isinstance(node, ast.If | ast.IfExp | ast.While):
            conditions.update(lines_of_node(node.test))
        elif isinstance(node, ast.For):
            loops.update(lines_of_node(node.iter))
    if loops.issuperset(patched):
        # The loop around the wrong value, or around the line before it.
        before = [node.line for node in leading_to([wrong]) if node.line not in (0, wrong.line)]
        around = ((innermost_loop(source, line), line) for line in (wrong.line, *before[-1:]))
        return next((loop for loop, line in around if loop != line), None)
    if conditions.issuperset(patched):
        visited = {line for node in graph.nodes for line in node.lines}
        skipping = (_line_that_skips(source, line, visited) for line in wrong.lines)
        return next(filter(None, skipping), None)
    return None


def _line_that_skips(source: str, line: int, visited: set[int]) -> int | None:
    """Return the line that decides that a block before a line does not run.

    The block sets a variable that the line reads. It has none of the visited lines.
    """
    tree = ast.parse(source)
    nodes = list(ast.walk(function_around(tree, line) or tree))
    names = {node.id for node in nodes if isinstance(node, ast.Name) and node.lineno == line}
    branch: ast.If | None = None
    for node in nodes:
        if isinstance(node, ast.If) and node.lineno < line and names & _names_set(node):
            blocks = [block for block in (node.body, node.orelse) if block]
            lines = [range(block[0].lineno, lines_of_node(block[-1]).stop) for block in blocks]
            if any(map(visited.isdisjoint, lines)):  # a block made no result
                branch = node
    if branch is None:
        return None
    # The branch may test a variable that another line sets.
    test = re.fullmatch(r"(not )?(\w+)( is (not )?None)?", ast.unparse(branch.test))
    setting = [
        node.lineno
        for node in nodes
        if isinstance(node, ast.Assign) and node.lineno < branch.lineno
        if test and test[2] in _names_set(node)
    ]
    return max(setting, default=branch.lineno)


def _names_set(node: ast.AST) -> set[str]:
    return {
        name.id
        for name in ast.walk(node)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }


_COMMENT = re.compile(r"\s*#.*$")
_Line = tuple[int, str]


def is_omission(reference: str, mistake: Mistake) -> bool:
    """Return whether a mistake only leaves out operations of the reference."""
    right, wrong = _operations(reference), _operations(patch_all(reference, [mistake], ""))
    return wrong < right


def _operations(source: str) -> Counter[str]:
    """Count the operations of a file: calls by name, arithmetic, comparisons and slices."""
    operations: Counter[str] = Counter()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(ast.Name("float") | ast.Attribute(ast.Name("math"))):
                continue
            case ast.Call():
                operations[ast.unparse(node.func)] += 1
            case ast.BinOp() | ast.AugAssign():
                operations[type(node.op).__name__] += 1
            case ast.Compare() | ast.Subscript():
                operations[type(node).__name__] += 1
    return operations


def line_by_text(
    reference: str, mistake: Mistake, source: str, *, is_planted: bool = False
) -> tuple[int, int] | None:
    """Return the first and the last line of a mistake in a file; None if its text is not there.

    Both are the same line, except for a line that a hunt left out. Then they are the lines before
    and after the gap, or the line before it twice if the gap is at the end of a block.

    Args:
        is_planted: whether a bug hunt put the mistake into the file. Then lines that were moved
            count too, and so do lines that were left out.
    """
    texts = reference, patch_all(reference, [mistake], ""), source
    right, wrong, actual = map(_code_of, texts)
    # The index in the file of each line of the wrong reference that is there.
    places: dict[int, int] = {}
    for block in _matcher(wrong, actual).get_matching_blocks():
        places.update((block.a + offset, block.b + offset) for offset in range(block.size))
    moved = {text.strip() for _, text in right}
    for tag, first_right, _, start, end in _changes(right, wrong):
        if tag == "delete" and is_planted:
            before, after = places.get(start - 1), places.get(start)
            if before is not None and after == before + 1:
                is_in_block = _indent(actual[after][1]) >= _indent(right[first_right][1])
                return actual[before][0], actual[after if is_in_block else before][0]
        for index in range(start, end):
            text = wrong[index][1].strip()
            may_be_elsewhere = text in moved or text.startswith("with ")
            if index in places and (is_planted or not may_be_elsewhere):
                return (actual[places[index]][0],) * 2
    return None


def _code_of(source: str) -> list[_Line]:
    """Return the lines with code, with their numbers, without comments at their ends."""
    numbered = enumerate((_COMMENT.sub("", line) for line in source.splitlines()), 1)
    return [(number, text) for number, text in numbered if text.strip()]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _matcher(was: list[_Line], now: list[_Line]) -> SequenceMatcher[str]:
    texts, new_texts = ([text for _, text in lines] for lines in (was, now))
    return SequenceMatcher(None, texts, new_texts, autojunk=False)


def _changes(was: list[_Line], now: list[_Line]) -> list[tuple[str, int, int, int, int]]:
    return [change for change in _matcher(was, now).get_opcodes() if change[0] != "equal"]


def patched_lines(reference: str, mistake: Mistake) -> Collection[int]:
    """Return the lines of the reference with a mistake that the mistake changed or added.

    If it only left lines out, the line after them is returned.
    """
    right, wrong = _code_of(reference), _code_of(patch_all(reference, [mistake], ""))
    changes = _changes(right, wrong)
    added = [wrong[index] for *_, start, end in changes for index in range(start, end)]
    left = [right[index][1].strip() for _, start, end, *_ in changes for index in range(start, end)]
    new = {number for number, text in added if text.strip() not in left}
    return new or {number for number, _ in added} or {lines_of(reference, mistake).start}


class NamedMistake:
    """A named mistake in a recorded case of a file, whose text is `source`."""

    def __init__(
        self,
        recorded: RecordedCase,
        mistaken: ValueGraph,
        reference: str,
        mistake: Mistake,
        source: str,
    ) -> None:
        self.recorded, self.mistaken, self.source = recorded, mistaken, source
        self._reference, self._mistake = reference, mistake
        self._patched = patched_lines(reference, mistake)
        self._changed = [node for node in mistaken.nodes if node.line in self._patched]

    def lines(self, first: FirstWrong | None, *, is_missing: bool) -> tuple[int, int] | None:
        """Return the first and the last line; None if the first wrong value shows them as well."""
        numbered = lines_of_number(self.recorded, self._changed, self.source) if first else None
        line = None if numbered else self._line(first, is_missing=is_missing)
        return numbered if line is None else (line, line)

    def _line(self, first: FirstWrong | None, *, is_missing: bool) -> int | None:
        if first is None:
            return self._line_without_wrong_value()
        wrong_source = patch_all(self._reference, [self._mistake], "")
        graph, source = self.recorded.graph, self.source
        line = line_of_condition(wrong_source, self._patched, source, graph, first.node)
        if line is None:
            line = self._line_of_parts(first)
        if line is None and self.recorded.right.has(first.node):  # in another layout
            line = self._line_of_equal_value(is_new=True)
        if line is None and not is_missing:
            line = self._line_of_result(first)
        return line

    def _line_without_wrong_value(self) -> int | None:
        """Return the line that makes a value of the changed lines; None if none does.

        The value is wrong, or the reference has no such operation, for example a write in place.
        """
        usual = {node.operation for node in self.recorded.reference.nodes}
        for node in self._changed:
            is_usual = node.operation in usual
            if not node.is_comparable or (is_usual and not self._is_other_value(node)):
                continue
            for actual in self.recorded.graph.nodes:
                if self._is_twin(node, actual) and (is_usual or actual.operation not in usual):
                    return actual.line
        return self._line_of_equal_value(is_new=False)

    def gap(self) -> tuple[int, int] | None:
        """Return the lines around a missing operation; None if no operation is missing.

        The first makes the value to which the reference applies the operation, and the second uses
        it. The first is the second if the value is an input.
        """
        if not is_omission(self._reference, self._mistake):
            return None
        left_out = lines_of(self._reference, self._mistake)
        missing = [node for node in self.recorded.reference.nodes if node.line in left_out]
        operands = [parent for node in missing for parent in node.parents]
        nodes = self.recorded.graph.nodes
        for operand in operands:
            if operand.line in left_out or not operand.is_comparable:
                continue
            if operand.is_input:
                values = [actual for actual in nodes if actual.operation == operand.operation]
            else:
                values = [actual for actual in nodes if self._is_twin(operand, actual)]
            before = values[0].line if values else 0
            for user in nodes:
                if user.line not in (0, before) and not set(values).isdisjoint(user.parents):
                    return before or user.line, user.line
        return None

    def _is_other_value(self, node: Node) -> bool:
        """Return whether a value can be compared and the right answers do not compute it."""
        return node.is_comparable and not self.recorded.right.has(node, may_swap=False)

    def _is_wrong(self, actual: Node) -> bool:
        """Return whether a line of the file makes another value than right answers, NaN or +inf."""
        if not actual.lines or actual.value is None:
            return False
        return self._is_other_value(actual) or not bool((actual.value < torch.inf).all())

    def _is_twin(self, node: Node, actual: Node) -> bool:
        """Return whether a line of the file makes the value of a node."""
        if not actual.lines or actual.is_number != node.is_number:
            return False
        if node.is_number:
            return node.scalar == actual.scalar
        return have_same_value(node, actual, self.recorded.sizes)

    def _line_of_equal_value(self, *, is_new: bool) -> int | None:
        """Return the line that makes a value of the changed lines as no right answer makes it.

        This finds values with few different entries, and right values in a wrong layout.

        Args:
            is_new: whether no right answer may have the value. Otherwise right answers may make it
                by another operation, for example zeros for another sum, and the line is not after
                the first wrong value.
        """
        nodes = self.recorded.graph.nodes
        early = list(takewhile(lambda actual: not self._is_wrong(actual), nodes))
        right = [node for graph in self.recorded.right_graphs for node in graph.nodes]
        for node in self._changed:
            makers = {other.operation for other in right if _is_equal(node, other)}
            if node.entries < 2 or node.operation in makers or (is_new and makers):
                continue
            for actual in early if makers else nodes:
                if actual.lines and actual.operation not in makers and _is_equal(node, actual):
                    line, *calls = actual.lines
                    is_chosen = calls and gives_a_constant(self.source, calls[0], line)
                    return calls[0] if is_chosen else line
        return None

    def _line_of_parts(self, first: FirstWrong) -> int | None:
        """Return the line that splits or returns right values as the changed lines do.

        The changed lines make no wrong value, but give right values wrong names or places.
        """
        visit = dropwhile(
            lambda node: node.line not in self._patched, self.mistaken.leading_to_outputs
        )
        changed = list(takewhile(lambda node: node.line in self._patched, visit))
        if any(map(self._is_other_value, changed)):
            return None
        parts = [node for node in changed if node.is_comparable and _is_part(node, changed)]
        by_visit: dict[tuple[tuple[int, ...], bool], list[Node]] = {}
        for actual in self.recorded.graph.nodes[: first.node.index]:
            by_visit.setdefault((actual.lines, actual.operation == "return"), []).append(actual)
        for (lines, is_return), nodes in by_visit.items():
            wanted = [node for node in parts if (node.operation == "return") == is_return]
            twins = [
                node for node in wanted if any(self._is_twin(node, actual) for actual in nodes)
            ]
            if len(wanted) > 1 and twins == wanted:
                return lines[0]
        return None

    def _line_of_result(self, first: FirstWrong) -> int | None:
        """Return the line of the file whose result is the wrong result of a changed line.

        A line that calls a function has the result of the function. If a line and a line inside its
        call have this result, the line inside is returned.
        A line after the first wrong value does not count, unless the mistake makes this value too
        before its changed lines, and the line is in the same call.
        """
        graph = self.recorded.graph
        # A softmax without a mask, for example, if the mistake hides the weights after the softmax.
        start = min((node.index for node in self._changed), default=0)
        earlier = [node for node in self.mistaken.nodes[:start] if self._is_other_value(node)]
        twins = [
            actual for actual in graph.nodes if any(self._is_twin(node, actual) for node in earlier)
        ]
        is_made_before = first.node in leading_to(twins)
        results, inner = [], first.node.lines
        for lines, node in _results(graph):
            is_in_time = node.index <= first.node.index or lines == inner
            is_in_time |= is_made_before and lines[1:] == inner[1:]
            if not is_in_time and inner[-len(lines) :] == lines:
                # The mistake may be a constant that the call gives, like the axis of a softmax.
                is_in_time = gives_a_constant(self.source, lines[0], inner[0])
            if is_in_time:
                results.append((lines, node))
        for lines, node in _results(self.mistaken):
            if lines[0] not in self._patched or not self._is_other_value(node):
                continue
            before = self.mistaken.nodes[: node.index]
            others = [other for other in before if other.line not in self._patched]
            if any(self._is_twin(other, node) for other in others):
                continue  # the line changes nothing, so a step is missing
            matches = [actual for actual, value in results if self._is_twin(node, value)]
            if matches:
                return max(matches, key=len)[0]
        return None


def depth_of(mistaken: ValueGraph, patched: Collection[int]) -> int | None:
    """Return the number of lines in the call stack of a changed line that calls a function.

    Return None if no changed line calls one. Then the mistake is in a computation, and in the file
    it may be inside a function.
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


def _is_part(node: Node, changed: Collection[Node]) -> bool:
    """Return whether a result is returned, or is one of several results of an operation."""
    return node.operation == "return" or any(
        other is not node and (other.operation, other.parents) == (node.operation, node.parents)
        for other in changed
    )
