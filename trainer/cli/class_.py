"""`attn-drill class`: grade a class, set points by hand, hand out the tasks, autograders."""

from __future__ import annotations

import typer

from trainer.cli.class_autograder import autograder
from trainer.cli.class_grade import grade
from trainer.cli.class_handout import handout
from trainer.cli.class_override import override
from trainer.cli.parameters import PackCommand

__all__ = ["app", "autograder", "grade"]

app = typer.Typer(
    help="Grade a class, set points by hand, hand out the tasks.", rich_markup_mode=None
)
app.command("grade", cls=PackCommand, short_help="grade the submissions of a class")(grade)
app.command("override", short_help="set the points of a student by hand")(override)
app.command("handout", cls=PackCommand, short_help="write what the students get")(handout)
app.command("autograder", cls=PackCommand, short_help="write an autograder for Gradescope")(
    autograder
)
