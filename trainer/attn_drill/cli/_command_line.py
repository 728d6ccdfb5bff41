"""Share between commands: parameters, packs, journal, help, errors, exit codes, pages, columns."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from attn_drill.app.open_packs import KnownPacks, open_packs
from attn_drill.app.warn import warn, warn_journal
from attn_drill.model.errors import DrillError, GraderError
from attn_drill.practice.journal import Journal, default_journal

# Makes a JSON object of an error. A command sets it if its arguments have `--json`.
json_form: ContextVar[Callable[[str], str] | None] = ContextVar("json_form", default=None)

PACK_HELP = "Use the pack in this folder first, before all others; may be given several times."
SECTIONS = (
    "Practise",
    "Look closer",
    "Rehearse",
    "Keep track",
    "Teach and extend",
    "Machine and tools",
)
# The names of version 0.2, with the group in which the command is now.
_OLD_NAMES = {
    "grade": "class",
    "autograder": "class",
    "compare": "tools",
    "heads": "tools",
    "export": "journal",
    "import": "journal",
}

_LEAST_PROSE = 30  # columns, so that a title takes at most two lines
NO_COLOURS: Mapping[str, str] = {}


def exit_code(program: Callable[[], object]) -> int:
    """Run the program. Show the error if it fails, and return the exit code."""
    json_form.set(None)
    try:
        code = program()
    except (DrillError, GraderError) as error:
        return _shown(str(error), error.exit_code)
    except BrokenPipeError:
        return 0
    except SystemExit as error:
        code = error.code
    except typer.Abort:
        code = 130
    except Exception as error:
        if hasattr(error, "exit_code") and hasattr(error, "format_message"):  # of the usage
            message = error.format_message().rstrip(".")
            path = getattr(getattr(error, "ctx", None), "command_path", "attn-drill")
            return _shown(f"{message}. `{path} --help` shows the usage.", 2)
        import traceback

        traceback.print_exc()
        bug = "this is a bug in attn-drill, not in your file. Please report the lines above."
        return _shown(bug, 3)
    if code == 130 and json_form.get():
        return _shown("Interrupted.", 130)
    return code if isinstance(code, int) else 0  # a command returns None


def _shown(sentence: str, code: int) -> int:
    if form := json_form.get():
        print(form(sentence), file=sys.stdout)
    else:
        warn([sentence])
    return code


class Desk:
    """The packs and the journal of a command."""

    # Each is opened when it is first needed. So an error about it has the form that the options of
    # the command ask for.

    def __init__(self, named: tuple[Path | str, ...] = ()) -> None:
        self.named = named  # the folders of `--pack`

    @cached_property
    def packs(self) -> KnownPacks:
        return open_packs(self.named)

    @cached_property
    def journal(self) -> Journal:
        return default_journal()

    def close(self) -> None:
        """Close the journal. Warn if it could not be read or written."""
        if "journal" in self.__dict__:
            warn_journal(self.journal)
            self.journal.close()


def name_packs(context: typer.Context, folders: Iterable[Path | str] | None) -> None:
    """Give the command a desk with the folders of `--pack`.

    Folders named before the command's name stay first: a subcommand inherits `context.obj`.
    """
    before: Desk | None = context.obj
    context.obj = Desk((*(before.named if before else ()), *(folders or ())))
    context.call_on_close(context.obj.close)


# All commands can share this object, because it stores nothing between calls.
_PACK_OPTION = TyperOption(
    param_decls=["--pack"],
    metavar="DIR",
    multiple=True,
    default=(),
    show_default=False,
    expose_value=False,
    callback=lambda context, _parameter, folders: name_packs(context, folders),
    help=PACK_HELP,
)


class DrillCommand(TyperCommand):
    """A command. With `--json`, its errors are objects too."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, after noting how an error in them is to be shown."""
        json_form.set(self.error_as_json if "--json" in args else None)
        return super().parse_args(ctx, args)

    def error_as_json(self, sentence: str) -> str:
        return json.dumps({"error": sentence})


class PackCommand(DrillCommand):
    """A command that takes `--pack DIR`. The program also takes it before the command's name."""

    def __init__(
        self, *arguments: Any, params: Sequence[Any] | None = None, **options: Any
    ) -> None:
        super().__init__(*arguments, params=[*(params or ()), _PACK_OPTION], **options)


class DrillGroup(TyperGroup):
    """A command with subcommands. Its help lists them in sections, before the options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments. A group shows its help if no subcommand is named."""
        if not args and not self.invoke_without_command:
            args = ["--help"]
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the sections, then the options. click would cut the helps."""
        longest = max(map(len, self.commands))
        rows: dict[str, list[tuple[str, str]]] = {section: [] for section in SECTIONS}
        for name, command in self.commands.items():
            row = name.ljust(longest), command.get_short_help_str(60)
            rows.setdefault(getattr(command, "rich_help_panel", ""), []).append(row)
        formatter.write_paragraph()
        for section in filter(rows.get, rows):
            formatter.write_heading(section)
            with formatter.indentation():
                formatter.write_dl(rows[section])
        super().format_options(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write nothing, because the sections come before the options."""


class Program(DrillGroup):
    """All commands. The names of version 0.2 work too."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        group = self.commands.get(_OLD_NAMES.get(cmd_name, ""))
        if isinstance(group, TyperGroup):
            return group.get_command(ctx, cmd_name)
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        if args[:2] == ["grade", "override"]:
            raise DrillError(
                "`attn-drill grade override` is `attn-drill class override` now, with the same "
                "arguments. (A folder called override is `./override`.)"
            )
        return super().resolve_command(ctx, args)


def complete_id(context: typer.Context, incomplete: str) -> list[str]:
    """Return the ids that begin with `incomplete`, for shell completion."""
    desk: Desk = context.obj
    try:
        challenges = desk.packs.catalogue().challenges
    except DrillError:  # `--pack` names a folder that is not a pack; the command will report it
        return []
    return [challenge.id for challenge in challenges if challenge.id.startswith(incomplete)]


# Parameters of several commands.
ChallengeId = Annotated[
    str, typer.Argument(metavar="ID", help="The challenge, e.g. gqa.", autocompletion=complete_id)
]
LearnerFile = Annotated[
    Path | None,
    typer.Argument(metavar="[FILE]", help="Your file; by default the path of the stub."),
]
StubFolder = Annotated[Path, typer.Option("--dir", help="The folder for the file.")]
Watch = Annotated[
    bool,
    typer.Option("--watch/--no-watch", help="On a terminal, stay and grade every save."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Html = Annotated[
    Path | None,
    typer.Option("--html", metavar="FILE.html", help="Write the report as one HTML page."),
]
Jobs = Annotated[
    int | None,
    typer.Option(min=1, max=512, help="The number of processes; by default one per core."),
]
AssignedId = Annotated[
    str | None,
    typer.Option(
        "--challenge", metavar="ID", help="The challenge, e.g. gqa.", autocompletion=complete_id
    ),
]
AssignmentPath = Annotated[
    Path | None, typer.Option("--assignment", help="An assignment.toml, instead of --challenge.")
]


def check_page_name(path: Path) -> None:
    """Refuse a page without the name of a page, so that no other file is overwritten."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise DrillError(
            f"--html is {path}; its name must end in .html, so that no other file is overwritten. "
            f"Name it {path.with_suffix('.html')}."
        )


def write_page(path: Path, page: str) -> None:
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise DrillError(
            f"{path} cannot be written: {error.strerror or error}. Name another file with --html."
        ) from None


def in_columns(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int,
    colours: Mapping[str, str] = NO_COLOURS,
) -> Iterator[str]:
    """Yield the lines of a table, with the numbers at the right of their column.

    The last column has prose. If the terminal is too narrow for it, it has its own lines.

    Args:
        colours: the colour of each cell that has one.
    """
    sizes = [max(map(len, column)) for column in zip(heads, *rows, strict=True)][:-1]
    # The first row shows which columns have numbers.
    numbers = [cell.isdecimal() for cell in (*rows, heads)[0]]
    indent = sum(sizes) + 2 * len(sizes)
    is_beside = width - indent >= _LEAST_PROSE

    def cells(row: Sequence[str]) -> str:
        line = ""
        for cell, size, is_number in zip(row, sizes, numbers, strict=False):
            text = cell.rjust(size) if is_number else cell.ljust(size)
            if cell in colours:
                text = text.replace(cell, typer.style(cell, fg=colours[cell]))
            line += f"{text}  "
        return line

    yield f"{cells(heads)}{heads[-1]}" if is_beside else cells(heads).rstrip()
    room = width - indent if is_beside else max(20, width - 2)
    for row in rows:
        parts = textwrap.wrap(row[-1], room, break_on_hyphens=False)
        beside = parts.pop(0) if parts and is_beside else ""
        yield f"{cells(row)}{beside}".rstrip()
        for part in parts:
            yield " " * (indent if is_beside else 2) + part
