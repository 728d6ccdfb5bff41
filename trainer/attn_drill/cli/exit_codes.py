"""The one place that shows errors and chooses the exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import ContextVar

import typer

from attn_drill.app.warn import warn
from attn_drill.model.errors import DrillError, GraderError

# Makes a JSON object of an error. A command sets it if its arguments have `--json`.
json_form: ContextVar[Callable[[str], str] | None] = ContextVar("json_form", default=None)


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
