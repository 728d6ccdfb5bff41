"""Find packs of challenges and read them by path.

A pack is a folder that contains `challenges/` and `solutions/`. A challenge's id has hyphens; the
names of its folders have underscores instead.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from tokenize import TokenError
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from attn_drill import __version__
from attn_drill.model.challenge import (
    Asked,
    Challenge,
    Expression,
    Kind,
    OtherAnswer,
    Parameter,
    Signature,
)
from attn_drill.model.errors import DrillError, PackError
from attn_drill.packs import toml
from attn_drill.packs.mistakes import read_mistakes
from attn_drill.packs.stub_levels import LEVELS, Level, arranged, at_level
from attn_drill.packs.toml import Text, key_error, read_toml

REFERENCE = "reference"  # the name of the reference among the right answers
PACKAGE = Path(__file__).resolve().parents[1]
# A table with the empty line under it, or the place before a list.
_TABLE_OR_LIST = re.compile(r"^(?:\|.*\n)+\n|^(?=- )", re.MULTILINE)

_DTYPE = re.compile(r"torch\.(float|int|uint|bfloat|complex)\d+|torch\.bool")


class ChallengeFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The keys of `challenge.toml`."""

    title: Text
    level: Literal["easy", "medium", "hard"]
    minutes: Annotated[int, Meta(ge=1)]
    kind: Kind
    entry: Annotated[tuple[str, ...], Meta(min_length=1)]
    hints: tuple[Text, Text, Text]
    builds_on: tuple[str, ...] = ()
    topic: str = "other"
    asked: Asked = "sometimes"
    forbids: tuple[str, ...] = ()
    ties: tuple[tuple[str, str], ...] = ()
    parts: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    continued_by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raise ValueError if two keys do not fit together."""
        if self.kind == "class" and len(self.entry) != 1:
            raise ValueError(
                f'`entry` has {len(self.entry)} names, but a challenge of kind "class" must have '
                "exactly one class. Name one."
            )
        if self.parts and len(self.parts) != len(self.entry):
            raise ValueError(
                f"`parts` has {len(self.parts)} words, but `entry` has {len(self.entry)} names. "
                "Write a word for each name, or remove `parts`."
            )


class Translated(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A text by language."""

    en: Text
    zh: str = ""

    def text(self, language: str) -> str:
        """Return the text in a language, or in English if it is not translated."""
        return (getattr(self, language, "") or self.en).strip()


class RulesFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The keys of `rules.toml`."""

    rules: dict[str, Translated]
    title: Translated = Translated("")


def challenge_id(folder: str) -> str:
    """Return the id of a folder name.

    >>> challenge_id("kv_cache")
    'kv-cache'
    """
    return folder.replace("_", "-")


def built_in_pack() -> Path:
    """Return the folder of the pack that comes with attn-drill.

    The pack is beside `trainer/` in a checkout, and inside the package in an installed wheel.
    """
    for root in (PACKAGE.parents[1], PACKAGE / "_pack"):
        if is_pack(root):
            return root
    raise PackError(
        f"There are no folders challenges/ and solutions/ next to or inside {PACKAGE}. "
        "Install attn-drill again from a complete checkout or wheel."
    )


def is_pack(root: Path) -> bool:
    """Return whether the folder contains challenges/ and solutions/."""
    return (root / "challenges").is_dir() and (root / "solutions").is_dir()


def read_text(path: Path) -> str:
    """Read a text file of a pack, or raise PackError with the path."""
    return toml.read_text(path, PackError)


def read_challenge(folder: Path) -> Challenge:
    """Read `challenges/<folder>/challenge.toml`."""
    if folder.name != folder.name.lower().replace("-", "_"):
        raise PackError(
            f"{folder} has a name that no id can use. "
            "Rename it with lower-case letters, digits and underscores."
        )
    keys = msgspec.structs.asdict(read_toml(folder / "challenge.toml", ChallengeFile, PackError))
    keys["hints"] = tuple(hint.strip() for hint in keys["hints"])  # a hint of several lines is code
    return Challenge(
        id=challenge_id(folder.name),
        folder=folder,
        solutions=folder.parent.parent / "solutions" / folder.name,
        **keys,
    )


def challenge_folders(root: Path) -> list[Path]:
    """Return the folders of a pack's challenges, sorted by name.

    A name that begins with a dot or an underscore hides a folder.
    """
    try:
        paths = sorted((root / "challenges").iterdir())
    except OSError as error:
        raise PackError(
            f"{root / 'challenges'} cannot be read: {error.strerror}. "
            "A pack has folders challenges/ and solutions/."
        ) from None
    return [path for path in paths if path.is_dir() and not path.name.startswith((".", "_"))]


def read_pack(root: Path) -> tuple[Challenge, ...]:
    """Return all challenges of a pack in the order of `prerequisites_first`."""
    return tuple(prerequisites_first(map(read_challenge, challenge_folders(root))))


def prerequisites_first(challenges: Iterable[Challenge]) -> Iterator[Challenge]:
    """Yield challenges by their minutes, but each challenge after those that it builds on.

    Challenges in a circle raise PackError after all others.
    """
    remaining = sorted(challenges, key=lambda challenge: (challenge.minutes, challenge.id))
    while remaining:
        ids = {challenge.id for challenge in remaining}
        ready = next((each for each in remaining if ids.isdisjoint(each.builds_on)), None)
        if ready is None:
            raise PackError(
                f"`builds_on` makes a circle among {', '.join(sorted(ids))}. "
                "Remove one of these links."
            )
        yield ready
        remaining.remove(ready)


def find_challenge(root: Path, wanted: str) -> Challenge:
    """Return the challenge of a pack with this id, as `find_in` does."""
    return find_in([root], wanted)


def find_in(roots: Iterable[Path], wanted: str) -> Challenge:
    """Return the challenge with this id from the first of these packs that has one."""
    name = challenge_id(wanted.strip().lower())
    ids: list[str] = []
    for root in roots:
        for folder in challenge_folders(root):
            if challenge_id(folder.name) == name:
                return read_challenge(folder)
            ids.append(challenge_id(folder.name))
    all_shown = "`attn-drill list` shows all challenges."
    if wanted.endswith((".py", ".ipynb")):
        stem = challenge_id(Path(wanted).stem.lower())
        challenge = stem if stem in ids else "ID"
        raise DrillError(
            f"{wanted} is the name of a file. Name the challenge first: `{challenge} {wanted}`. "
            + all_shown
        )
    near = difflib.get_close_matches(name, ids, n=3, cutoff=0.4)
    near += [other for other in ids if name and name in other and other not in near]
    hint = f"The challenges are: {', '.join(ids)}."
    if near:
        hint = f"Did you mean {' or '.join(near)}?"
    raise DrillError(f"No challenge is called {wanted!r}. {hint} {all_shown}")


def prompt(challenge: Challenge, language: str = "en") -> str:
    """Return the task: the prompt with the usual rules under its table, or before its list."""
    text = _in_language(challenge.folder / "prompt.md", language)
    if not challenge.rules:
        return text
    file = read_toml(built_in_pack() / "challenges" / "rules.toml", RulesFile, PackError)
    rules = file.rules
    of_pack = challenge.folder.parent / "rules.toml"
    if of_pack.is_file():
        rules = rules | read_toml(of_pack, RulesFile, PackError).rules
    if unknown := [name for name in challenge.rules if name not in rules]:
        sentence = (
            f"`rules` names {', '.join(unknown)}, but the rules are {', '.join(rules)}. "
            f"Name these, or write the new rule into {of_pack}."
        )
        raise key_error(challenge.folder / "challenge.toml", ("rules",), sentence, PackError)
    space = "" if language == "zh" else " "
    sentences = space.join(
        rule.text(language) for name, rule in rules.items() if name in challenge.rules
    )
    paragraph = f"**{file.title.text(language)}** {sentences}"
    place = _TABLE_OR_LIST.search(text)
    end = place.end() if place else len(text)
    return f"{text[:end].rstrip()}\n\n{paragraph}\n\n{text[end:]}"


def _in_language(path: Path, language: str) -> str:
    """Return the text of a page in this language, or in English if there is no translation."""
    translated = path.with_suffix(f".{language}.md")
    return read_text(translated if translated.is_file() else path)


def conventions(language: str = "en") -> str:
    """Return the page of conventions in this language, or in English if there is none."""
    return _in_language(built_in_pack() / "docs" / "conventions.md", language)


def stub(challenge: Challenge, level: Level = "standard") -> str:
    """Return the text of the stub that `start` writes at this level.

    The level `arrange` needs the reference and the known mistakes, too.
    """
    path = challenge.folder / "stub.py"
    guided = read_text(path)
    try:
        if level != "arrange":
            return at_level(guided, level)
        standard = at_level(guided, "standard")
        path = challenge.solutions / "solution.py"
        return arranged(standard, solution(challenge), read_mistakes(challenge), challenge.id)
    except (SyntaxError, TokenError, ValueError) as error:
        raise not_python(path, error) from None


def not_python(path: Path, error: Exception) -> PackError:
    """Return the error for a file of a pack that is not valid Python."""
    place, text = "", error.args[0]
    if isinstance(error, SyntaxError):
        place, text = f", line {error.lineno}", error.msg
    return PackError(f"{path}{place}: the file is not valid Python: {text}. Correct it.")


def is_stub(challenge: Challenge, source: str) -> bool:
    """Return whether a text is the unchanged stub of some level."""
    with contextlib.suppress(PackError):  # the last level needs the mistakes, too
        return any(source == stub(challenge, level) for level in reversed(LEVELS))
    return False


def solution(challenge: Challenge) -> str:
    """Return the source of the reference."""
    return read_text(challenge.solutions / "solution.py")


def also_right(challenge: Challenge) -> tuple[Path, ...]:
    """Return the paths of right answers in other styles, which the grader must accept."""
    return tuple(sorted((challenge.solutions / "also_right").glob("*.py")))


def other_answers(challenge: Challenge) -> tuple[OtherAnswer, ...]:
    """Return the right answers of a challenge, the reference first."""
    answers = [OtherAnswer(REFERENCE, "", "", solution(challenge))]
    for path in also_right(challenge):
        source = read_text(path)
        answers.append(OtherAnswer(path.stem, *paragraphs(source), source))
    return tuple(answers)


def paragraphs(source: str) -> tuple[str, str]:
    """Return the first two paragraphs of a file's docstring, each on a single line.

    They say what an answer does differently, and what this costs.
    """
    try:
        docstring = ast.get_docstring(ast.parse(source)) or ""
    except (SyntaxError, ValueError):
        docstring = ""
    first, second, *_ = [" ".join(part.split()) for part in docstring.split("\n\n")] + [""]
    return first, second


def content_digest(challenge: Challenge) -> str:
    """Return the SHA-256 of all that a verdict depends on: the files and the version."""
    digest = hashlib.sha256(__version__.encode())
    for root in (challenge.folder, challenge.solutions):
        for path in sorted(root.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                digest.update(f"\0{path.relative_to(root).as_posix()}\0".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


def signatures(challenge: Challenge) -> tuple[Signature, ...]:
    """Return the interface that a submission must have: signatures of functions and methods.

    The stub is parsed with `ast` and never run.
    """
    path = challenge.folder / "stub.py"
    try:
        tree = ast.parse(stub(challenge, "guided"))
    except (SyntaxError, ValueError) as error:
        raise not_python(path, error) from None
    nodes = {getattr(node, "name", ""): node for node in tree.body}
    read: list[Signature] = []
    for entry in challenge.entry:
        node = nodes.get(entry)
        if not isinstance(node, ast.ClassDef | ast.FunctionDef):
            raise PackError(
                f"{path} defines no {entry}, which challenge.toml names as `entry`. "
                "Define it, or correct `entry`."
            )
        must_be_class = challenge.kind != "function" and entry == challenge.entry[0]
        if must_be_class and not isinstance(node, ast.ClassDef):
            raise PackError(
                f"{path} defines {entry} as a function, but `kind` in challenge.toml is "
                f'"{challenge.kind}". Define a class, or write kind = "function".'
            )
        if isinstance(node, ast.FunctionDef):
            read.append(Signature(entry, _parameters(path, node)))
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and (
                method.name == "__init__" or not method.name.startswith("_")
            ):
                _, *parameters = _parameters(path, method)  # without `self`
                read.append(Signature(f"{entry}.{method.name}", tuple(parameters)))
    return tuple(read)


def _parameters(path: Path, function: ast.FunctionDef) -> tuple[Parameter, ...]:
    arguments, defaults = function.args.args, function.args.defaults
    required = len(arguments) - len(defaults)
    parameters = [Parameter(argument.arg) for argument in arguments[:required]]
    for argument, node in zip(arguments[required:], defaults, strict=True):
        text = ast.unparse(node)
        try:
            default = Expression(text) if _DTYPE.fullmatch(text) else ast.literal_eval(node)
        except ValueError:
            raise PackError(
                f"{path}, line {argument.lineno}: the default of {argument.arg} must be a literal, "
                "for example None, 1 or True, or a dtype, for example torch.float32."
            ) from None
        parameters.append(Parameter(argument.arg, required=False, default=default))
    return tuple(parameters)
