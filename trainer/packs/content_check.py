"""Check the parts of a pack that need no grading: the names of its files, and its texts."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

from trainer.model.challenge import Challenge
from trainer.model.errors import PackError
from trainer.packs import pack_reader
from trainer.packs.follow_up import follow_up_problems, questions_of
from trainer.packs.mistakes import patch, read_mistakes
from trainer.packs.question_bank import topic_files
from trainer.packs.stub_levels import at_level, steps
from trainer.packs.toml import key_error, line_of, suggestion

FEWEST_MISTAKES = 12
FEWEST_ALSO_RIGHT = 4
FEWEST_STEPS = 2
_FOLDER = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_IGNORED = re.compile(r"\..*|__pycache__")  # files of editors, Python and version control
_FILES = {
    "challenges": re.compile(r"challenge\.toml|stub\.py|cases\.py|prompt(\.[a-z]{2})?\.md"),
    "solutions": re.compile(r"solution\.py|mistakes\.toml|follow_up\.toml|also_right/[^/]+\.py"),
}
_BLOCK = re.compile(r"^```[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
_SPAN = re.compile(r"`([^`\n]+)`")
_COMMENT = re.compile(r"\s*#.*")
_Rule = Callable[[Challenge, Sequence[Path]], Iterator[str]]


def misplaced_files(root: Path) -> list[str]:
    """Return a sentence for each file that belongs to no challenge, and each lonely folder.

    Only the names of files and folders are used; no file is read.
    """
    problems: list[str] = []
    for part, partner in (("challenges", "solutions"), ("solutions", "challenges")):
        for path in _entries(root / part):
            # An author may hide a folder with an underscore. The question bank is such a folder.
            if path.name.startswith("_") or path == root / "challenges" / "rules.toml":
                continue
            if not path.is_dir():
                problems.append(f"{path} is not used: {part}/ must contain folders. Move it away.")
            elif not _FOLDER.fullmatch(path.name):
                problems.append(
                    f"{path} has a name that no id can use. "
                    "Rename the folder with letters a-z, digits and single underscores."
                )
            elif not (root / partner / path.name).is_dir():
                problems.append(
                    f"{path} exists, but {partner}/{path.name} does not. "
                    "Add that folder, or remove this one."
                )
            else:
                problems += [
                    f"{file} is not used. Move it away."
                    for file in _files_in(path)
                    if not _FILES[part].fullmatch(file.relative_to(path).as_posix())
                ]
    problems += [
        f"{path} is no file of the question bank. Call it <topic>.toml, or move it away."
        for path in _entries(root / "challenges" / "_questions")
        if path.suffix != ".toml"
    ]
    return problems


def _entries(folder: Path) -> list[Path]:
    paths = folder.iterdir() if folder.is_dir() else ()
    return sorted(path for path in paths if not _IGNORED.fullmatch(path.name))


def _files_in(folder: Path) -> Iterator[Path]:
    for path in _entries(folder):
        if path.is_dir():
            yield from _files_in(path)
        else:
            yield path


def text_problems(challenge: Challenge, packs: Sequence[Path]) -> list[str]:
    """Return a sentence for each rule that the texts of a challenge break.

    Args:
        challenge: the challenge.
        packs: the folders of all packs that it may refer to, its own pack among them.
    """
    prompt = challenge.folder / "prompt.md"
    problems: list[str] = []
    rules: list[_Rule] = [_links, _docstrings, _stub_levels, _also_right, _mistakes]
    try:
        if pack_reader.read_text(prompt).strip():
            rules += [_prompt, _translations, lambda challenge, _: follow_up_problems(challenge)]
        else:
            problems.append(f"{prompt} is empty. Write the task.")
    except PackError as error:
        problems.append(str(error))
    for rule in rules:
        try:
            problems += rule(challenge, packs)
        except PackError as error:
            problems.append(str(error))
    return list(dict.fromkeys(problems))  # several rules may need a file that is missing


def _links(challenge: Challenge, packs: Sequence[Path]) -> Iterator[str]:
    """Yield a sentence for each name in challenge.toml that nothing has."""
    path = challenge.folder / "challenge.toml"
    ids = [
        pack_reader.challenge_id(folder.name)
        for root in packs
        for folder in pack_reader.challenge_folders(root)
    ]
    for name in challenge.builds_on:
        if name not in ids:
            sentence = f"`builds_on` names {name!r}, which no pack has. {suggestion(name, ids)}"
            yield str(key_error(path, ("builds_on",), sentence))
    topics = [file.stem for root in packs for file in topic_files(root)]
    if challenge.topic not in (*topics, "other"):
        sentence = (
            f"`topic` is {challenge.topic!r}, but no question bank has a file of this name. "
            + suggestion(challenge.topic, topics)
        )
        yield str(key_error(path, ("topic",), sentence))
    if challenge.rules:
        pack_reader.usual_rules(challenge)  # raises PackError for a rule that does not exist


def _prompt(challenge: Challenge, _: Sequence[Path]) -> Iterator[str]:
    path = challenge.folder / "prompt.md"
    text = pack_reader.read_text(path)
    for part, is_there in (
        *((f"the name {name}", name in text) for name in challenge.entry),
        ("an example that begins with >>>", ">>> " in "".join(_BLOCK.findall(text))),
        ("follow-up questions as its last numbered list", questions_of(text)),
    ):
        if not is_there:
            yield f"{path} does not have {part}. Add it."


def _translations(challenge: Challenge, _: Sequence[Path]) -> Iterator[str]:
    """Yield a sentence for each fact of the English prompt that a translation does not have.

    So the prompt of another challenge does not pass as a translation.
    """
    english = pack_reader.read_text(challenge.folder / "prompt.md")
    for path in sorted(challenge.folder.glob("prompt.*.md")):
        text = pack_reader.read_text(path)
        if not text.strip():
            yield f"{path} is empty. Write the translation of prompt.md, or remove the file."
            continue
        if differing := set(_names_of_table(english)) ^ set(_names_of_table(text)):
            yield (
                f"{path}: the first column of its tables differs from that of prompt.md in "
                f"{', '.join(sorted(differing))}. Write the same names."
            )
        for wanted, line in zip_longest(_code(english), _code(text), fillvalue=""):
            if wanted != line:
                yield (
                    f"{path}: its examples differ from those of prompt.md, first in "
                    f"{wanted or line!r}. Copy the examples without changes."
                )
                break
        wanted_count, count = len(questions_of(english)), len(questions_of(text))
        if wanted_count and wanted_count != count:
            yield f"{path} has {count} questions, but prompt.md has {wanted_count}. Write them all."


def _names_of_table(text: str) -> list[str]:
    """Return the names in the first column of all tables of a prompt, in order."""
    rows = [line for line in _BLOCK.sub("", text).splitlines() if line.startswith("|")]
    return [name for row in rows for name in _SPAN.findall(row.strip("|").partition("|")[0])]


def _code(text: str) -> list[str]:
    """Return the lines of the examples without comments, which may be translated."""
    lines = "\n".join(_BLOCK.findall(text)).splitlines()
    return [code for line in lines if (code := _COMMENT.sub("", line).rstrip())]


def _docstrings(challenge: Challenge, _: Sequence[Path]) -> Iterator[str]:
    reference = challenge.solutions / "solution.py"
    if _docstring(pack_reader.solution(challenge)) == "":
        yield f"{reference} has no docstring. Say in it what is computed."
    for path in pack_reader.also_right(challenge):
        docstring = _docstring(pack_reader.read_text(path))
        if docstring is not None and docstring.count("\n\n") != 1:
            yield (
                f"{path} has no docstring of two paragraphs. Say in the first what the answer does "
                "differently, and in the second what this costs."
            )


def _docstring(source: str) -> str | None:
    """Return the docstring of a file; None if the file is not Python, which its row reports."""
    try:
        return ast.get_docstring(ast.parse(source)) or ""
    except (SyntaxError, ValueError):
        return None


def _stub_levels(challenge: Challenge, _: Sequence[Path]) -> Iterator[str]:
    """Yield a sentence for each reason why the stub cannot be handed out at every level."""
    path = challenge.folder / "stub.py"
    guided = pack_reader.stub(challenge, "guided")
    try:
        ast.parse(guided)
    except (SyntaxError, ValueError) as error:
        raise pack_reader.not_python(path, error) from None
    for problem in stub_problems(guided):
        yield f"{path}: {problem}."


def stub_problems(guided: str) -> Iterator[str]:
    """Yield the problems of a stub without full stop.

    Every function needs steps, and every step must name its result.
    """
    nodes = [
        node
        for node in ast.walk(ast.parse(guided))
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    ]
    if not any(map(ast.get_docstring, nodes)):
        yield "no docstring gives the shapes. Add it to the class or the function"
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            lines = "\n".join(guided.splitlines()[node.lineno - 1 : node.end_lineno])
            if len(steps(textwrap.dedent(lines))) < FEWEST_STEPS:
                yield (
                    f"{node.name} in line {node.lineno} has fewer than {FEWEST_STEPS} steps. "
                    "Write each step as a comment on its own line"
                )
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


def _also_right(challenge: Challenge, _: Sequence[Path]) -> Iterator[str]:
    count = len(pack_reader.also_right(challenge))
    if count < FEWEST_ALSO_RIGHT:
        folder = challenge.solutions / "also_right"
        yield f"{folder} has {count} files. Write at least {FEWEST_ALSO_RIGHT} right answers."


def _mistakes(challenge: Challenge, _: Sequence[Path]) -> Iterator[str]:
    path, mistakes = challenge.solutions / "mistakes.toml", read_mistakes(challenge)
    if len(mistakes) < FEWEST_MISTAKES:
        yield f"{path} has {len(mistakes)} mistakes. Write at least {FEWEST_MISTAKES}."
    for mistake in mistakes:
        try:
            patch(pack_reader.solution(challenge), mistake, str(path))
        except PackError as error:
            yield str(error).replace(str(path), place_of(challenge, mistake.id), 1)


def place_of(challenge: Challenge, mistake_id: str) -> str:
    """Return the file and the line of a mistake, for messages."""
    path = challenge.solutions / "mistakes.toml"
    ids = [mistake.id for mistake in read_mistakes(challenge)]
    line = line_of(path.read_text(encoding="utf-8"), ("mistake", ids.index(mistake_id)))
    return f"{path}, line {line}"
