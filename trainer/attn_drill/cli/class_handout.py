"""`attn-drill class handout FILE --out DIR`: write what the students of an assignment get."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attn_drill.app.open_packs import KnownPacks

_FILE = typer.Argument(metavar="FILE", help="The assignment.toml.")
_FOLDER = typer.Option(help="The folder for the page and the stubs.")


def handout(
    context: typer.Context,
    file: Annotated[Path, _FILE],
    out: Annotated[Path, _FOLDER] = Path("handout"),
) -> None:
    """Write the tasks of an assignment as one HTML page, and the stub of each task."""
    from attn_drill.app.grade_file import fresh_seed
    from attn_drill.app.start_challenge import language
    from attn_drill.app.warn import say
    from attn_drill.classroom.assignment import check_weights, read_assignment
    from attn_drill.classroom.result_store import write_atomically
    from attn_drill.cli.class_run import due_checks
    from attn_drill.export.handout import HandoutTask, handout_html
    from attn_drill.packs import pack_reader

    packs: KnownPacks = context.obj.packs
    assignment = read_assignment(file, packs.find, needs_due=False)
    seed = fresh_seed()
    tasks = []
    paths = [out / "handout.html"]
    for assigned in assignment.challenges:
        challenge = packs.find(assigned.challenge)
        name = f"{challenge.folder.name}.py"
        checks = due_checks(challenge.id, packs, seed)
        prompt = pack_reader.prompt(challenge, language())
        tasks.append(HandoutTask(assigned, challenge.title, name, challenge.entry, prompt, checks))
        paths.append(out / name)
        write_atomically(out / name, pack_reader.stub(challenge).encode())
    checks_of = {task.assigned.challenge: task.checks for task in tasks}
    check_weights(assignment, checks_of.__getitem__, file)
    write_atomically(paths[0], "".join(handout_html(assignment, tasks)).encode())
    say(f"written: {', '.join(map(str, paths))}")
