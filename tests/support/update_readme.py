"""Draw the picture of a failing report in the README: python tests/support/update_readme.py.

A test fails if the picture differs from the current report.
"""

import io
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
os.environ["OMP_NUM_THREADS"] = "1"

from attn_drill.packs import pack_reader
from tests.support.grading import report_of
from tests.support.paths import ROOT, SOURCE

PICTURE = ROOT / "docs" / "report.svg"
WIDTH, SEED = 92, 2
# rich's own frame loads fonts from the network, so this frame replaces it.
FRAME = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: monospace; font-size: {char_height}px; \
line-height: {line_height}px; }}
.{unique_id}-title {{ font-family: sans-serif; font-size: 18px; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">\
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def draw() -> str:
    """Return the report on tiled key heads, as `check` shows it on a terminal, as SVG."""
    from rich.console import Console

    from attn_drill.grading.grader import Grader
    from attn_drill.report.terminal import render

    root = pack_reader.built_in_pack()
    with Grader([root]) as grader:  # it starts before the reference is read
        gqa = pack_reader.find_challenge(root, "gqa")
        tiled = pack_reader.solution(gqa).replace(
            "k = k.repeat_interleave(group_size, dim=1)", "k = k.repeat(1, group_size, 1, 1)"
        )
        report = report_of(grader, gqa, tiled, "gqa.py", SEED, diagnosed=True)
    console = Console(
        record=True,
        width=WIDTH,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        highlight=False,
        emoji=False,
        legacy_windows=False,
    )
    console.print(render(report, WIDTH))
    return console.export_svg(title="attn-drill check gqa", code_format=FRAME, unique_id="report")


def current_picture() -> str:
    """Return the picture from a new process, with the environment of a user's terminal."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "TERM")
    }
    return subprocess.run(
        [sys.executable, __file__, "--print"],
        capture_output=True,
        text=True,
        check=True,
        env={**environment, "PYTHONPATH": os.pathsep.join([str(SOURCE), str(ROOT)])},
    ).stdout


if __name__ == "__main__":
    if sys.argv[1:] == ["--print"]:
        print(draw(), end="")
    else:
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_text(draw(), encoding="utf-8")
