"""Check the parts of a pack that need no grading: the names of its files, and its texts."""

from __future__ import annotations

import ast
import contextlib
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Literal

from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import PackError
from attn_drill.model.words import plural
from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import patch, read_mistakes
from attn_drill.packs.pack_reader import (
    also_right,
    challenge_folders,
    challenge_id,
    paragraphs,
    read_text,
    solution,
    stub,
)
from attn_drill.packs.question_bank import follow_up_problems, questions_of, topic_files
from attn_drill.packs.stub_levels import at_level, steps
from attn_drill.packs.toml import key_error, line_of, suggestion

Kind = Literal["content", "stub", "reference", "also right", "mistake"]
Item = tuple[Kind, str]
TEXTS: Item = ("content", "texts")
CASES: Item = ("content", "cases")
_SAMPLED = ("also right", "mistake")  # a quick check takes a sample of these

FEWEST_MISTAKES = 12
FEWEST_ALSO_RIGHT = 4
FEWEST_STEPS = 2
_IGNORED = re.compile(r"\..*|__pycache__")  # files of editors, Python and version control
# An author may hide a folder with an underscore.
_USED = re.compile(
    r"challenges/((rules|routes)\.toml|_questions/[^/]+\.toml|_(?!questions/).*)"
    r"|challenges/[^/]+/(challenge\.toml|stub\.py|cases\.py|prompt(\.[a-z]{2})?\.md)"
    r"|solutions/[^/]+/(solution\.py|mistakes\.toml|follow_up\.toml|also_right/[^/]+\.py)"
)
_BLOCK = re.compile(r"^```[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"\s*#.*")


@dataclass(frozen=True)
class Row:
    """The result for one item."""

    challenge: str
    kind: Kind
    name: str
    problems: tuple[str, ...] = ()  # sentences with the file and the next step
    refused_by: tuple[str, ...] = ()  # the failed checks, if the item is one that must not pass

    @property
    def ok(self) -> bool:
        """True if there is no problem."""
        return not self.problems


def items(challenge: Challenge) -> list[Item]:
    """Return all items of a challenge, in the order of the rows of `pack check`."""
    all_items: list[Item] = [TEXTS, CASES, ("stub", "stub.py"), ("reference", "solution.py")]
    all_items += [("also right", path.name) for path in pack_reader.also_right(challenge)]
    with contextlib.suppress(PackError):  # the item TEXTS reports the error
        all_items += [("mistake", mistake.id) for mistake in read_mistakes(challenge)]
    return all_items


def sample_items(
    all_items: Mapping[Challenge, Sequence[Item]], every: int, first: int
) -> dict[Challenge, list[Item]]:
    """Return each `every`th of the mistakes and other right answers, and all other items.

    The items are counted over all challenges, so a challenge with few mistakes may have none in the
    sample. The index of the first item is `first`, modulo `every`.
    """
    places = count(-first)
    return {
        challenge: [item for item in some if item[0] not in _SAMPLED or next(places) % every == 0]
        for challenge, some in all_items.items()
    }


def misplaced_files(root: Path) -> list[str]:
    """Return a sentence for each file that nothing reads. Only the names of files are used."""
    problems: list[str] = []
    for path in sorted([*root.glob("challenges/**/*"), *root.glob("solutions/**/*")]):
        name = path.relative_to(root)
        if path.is_dir() or any(_IGNORED.fullmatch(part) for part in name.parts):
            continue
        if not _USED.fullmatch(name.as_posix()):
            problems.append(f"{path} is not used. Correct its name, or move it away.")
        elif not (root / "challenges" / name.parts[1]).exists():
            problems.append(f"{path} is not used, because challenges/{name.parts[1]} is missing.")
    return problems


def text_problems(challenge: Challenge, packs: Sequence[Path]) -> list[str]:
    """Return a sentence for each rule that the texts of a challenge break.

    It may refer to these packs, its own pack among them.
    """
    problems: list[str] = []
    for rule in (partial(_links, packs=packs), *_RULES):
        try:
            problems += rule(challenge)
        except PackError as error:
            problems.append(str(error))
    return list(dict.fromkeys(problems))  # several rules may need a file that is missing


def _links(challenge: Challenge, packs: Sequence[Path]) -> Iterator[str]:
    path = challenge.folder / "challenge.toml"
    ids: list[str] = []
    topics: list[str] = []
    for root in packs:
        ids += [challenge_id(path.name) for path in challenge_folders(root)]
        topics += [path.stem for path in topic_files(root)]
    for key, names in (
        ("builds_on", challenge.builds_on),
        ("continued_by", challenge.continued_by),
    ):
        for name in names:
            if name not in ids:
                sentence = f"`{key}` names {name!r}, which no pack has. {suggestion(name, ids)}"
                yield str(key_error(path, (key,), sentence))
    if challenge.topic not in (*topics, "other"):
        sentence = (
            f"`topic` is {challenge.topic!r}, but no question bank has a file of this name. "
            + suggestion(challenge.topic, topics)
        )
        yield str(key_error(path, ("topic",), sentence))


def _prompts(challenge: Challenge) -> Iterator[str]:
    path = challenge.folder / "prompt.md"
    text = read_text(path)
    questions = questions_of(text)
    missing = [f"the name {name}" for name in challenge.entry if name not in text]
    if ">>> " not in "".join(_BLOCK.findall(text)):
        missing.append("an example that begins with >>>")
    if not questions:
        missing.append("follow-up questions as its last numbered list")
    for part in missing:
        yield f"{path} does not have {part}. Add it."
    for path in sorted(challenge.folder.glob("prompt.*.md")):
        translation = read_text(path)
        if _code(translation) != _code(text):
            yield f"{path}: its examples differ from those of prompt.md. Copy them unchanged."
        count, wanted = len(questions_of(translation)), len(questions)
        if wanted and wanted != count:
            yield f"{path} has {count} questions, but prompt.md has {wanted}. Write them all."


def _code(text: str) -> list[str]:
    """Return the lines of the examples without comments, which may be translated."""
    lines = "\n".join(_BLOCK.findall(text)).splitlines()
    return [code for line in lines if (code := _COMMENT.sub("", line).rstrip())]


def _right_answers(challenge: Challenge) -> Iterator[str]:
    paths = also_right(challenge)
    for path in paths:
        if not all(paragraphs(read_text(path))):
            yield (
                f"{path} has no docstring of two paragraphs. Say in the first what the answer does "
                "differently, and in the second what this costs."
            )
    if len(paths) < FEWEST_ALSO_RIGHT:
        folder = challenge.solutions / "also_right"
        some = plural(len(paths), "file")
        yield f"{folder} has {some}. Write at least {FEWEST_ALSO_RIGHT} right answers."
    if not paragraphs(solution(challenge))[0]:
        path = challenge.solutions / "solution.py"
        yield f"{path} has no docstring. Say in it what is computed."


def _stub_levels(challenge: Challenge) -> Iterator[str]:
    path = challenge.folder / "stub.py"
    stub(challenge, "blank")  # raises PackError if the stub is not Python
    for problem in stub_problems(read_text(path)):
        yield f"{path}: {problem}."


def stub_problems(guided: str) -> Iterator[str]:
    """Yield a sentence without full stop for each reason why a level cannot be handed out."""
    has_docstring = False
    for node in ast.walk(ast.parse(guided)):
        if not isinstance(node, ast.ClassDef | ast.FunctionDef):
            continue
        has_docstring |= bool(ast.get_docstring(node))
        lines = "\n".join(guided.splitlines()[node.lineno - 1 : node.end_lineno])
        is_function = isinstance(node, ast.FunctionDef)
        if is_function and len(steps(textwrap.dedent(lines))) < FEWEST_STEPS:
            yield (
                f"{node.name} in line {node.lineno} has fewer than {FEWEST_STEPS} steps. "
                "Write each step as a comment on its own line"
            )
    if not has_docstring:
        yield "no docstring gives the shapes. Add it to the class or the function"
    for step in steps(guided):
        if "->" not in step:
            yield f"a step does not name its result after `->`: {step!r}. Add `-> ` and its shape"
    try:
        ast.parse(at_level(guided, "blank"))
    except SyntaxError as error:
        yield (
            f"without docstrings it is not Python: {error.msg}. "
            "Write `raise NotImplementedError` below every docstring"
        )


def _mistakes(challenge: Challenge) -> Iterator[str]:
    path, mistakes = challenge.solutions / "mistakes.toml", read_mistakes(challenge)
    if len(mistakes) < FEWEST_MISTAKES:
        yield f"{path} has {len(mistakes)} mistakes. Write at least {FEWEST_MISTAKES}."
    for mistake in mistakes:
        try:
            patch(solution(challenge), mistake, str(path))
        except PackError as error:
            yield str(error).replace(str(path), place_of(challenge, mistake.id), 1)


_RULES = (_right_answers, _stub_levels, _mistakes, _prompts, follow_up_problems)


def place_of(challenge: Challenge, mistake_id: str) -> str:
    """Return the file and the line of a mistake, for messages."""
    path = challenge.solutions / "mistakes.toml"
    ids = [mistake.id for mistake in read_mistakes(challenge)]
    line = line_of(path.read_text(encoding="utf-8"), ("mistake", ids.index(mistake_id)))
    return f"{path}, line {line}"
