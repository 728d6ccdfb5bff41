"""Write what a teacher hands out: the page of an assignment, and a Gradescope autograder.

The page has the template `handout.html.jinja`. The autograder is a folder with its scripts, the
package, and packs.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from markdown_it import MarkdownIt
from markupsafe import Markup

from attn_drill.classroom.records import AssignedChallenge, Assignment
from attn_drill.export._grade_words import challenge_shares, check_weights, rules
from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import DrillError
from attn_drill.packs.pack_reader import PACKAGE, built_in_pack
from attn_drill.report.pages import page
from attn_drill.report.wording import visible

_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")

FAILED = (
    "The grader itself failed. This says nothing about what you handed in, and costs no points:"
    " tell your teacher, and hand in again later."
)

RUN_AUTOGRADER = f"""\
#!/usr/bin/env bash
# Grade the files that a student handed in. This script always leaves results/results.json.
# To try the script elsewhere, set AUTOGRADER_ROOT to the folder that holds submission/ and source/,
# and PYTHON to the Python that has attn-drill.
set -u
umask 077
root=${{AUTOGRADER_ROOT:-/autograder}}
python=${{PYTHON:-$root/source/venv/bin/python}}
# Less than the ten minutes after which the platform gives a score of 0.
seconds=${{AUTOGRADER_SECONDS:-540}}
# More options for `attn_drill.cli.autograde`, for example --allow-weaker-isolation.
options=()
if [ -d "$root/source/pack" ]; then options+=(--pack "$root/source/pack"); fi

# First write the results for the case that the rest of this script fails. They have no score,
# because no student may lose points for a fault of the grader.
mkdir -p "$root/results"
results=$root/results/results.json
cat >"$results" <<'END'
{{
  "output": "{FAILED}",
  "stdout_visibility": "hidden"
}}
END

rm -rf "$root/work"
mkdir -p "$root/work"
# Python must not import modules from the current folder.
export ATTN_DRILL_HOME=$root/work/home PYTHONPATH=$root/source/package
export PYTHONSAFEPATH=1 PYTHONUTF8=1
limit=()
command -v timeout >/dev/null && limit=(timeout --kill-after=10 "$seconds")
made=$root/work/results.json
"${{limit[@]}}" "$python" -m attn_drill.cli.autograde "$root/submission" \\
  "$root/source/assignment.toml" "$made" "${{options[@]}}" </dev/null
status=$?

if [ "$status" -eq 0 ] && [ -f "$made" ]; then
  cp "$made" "$results.new" && mv -f "$results.new" "$results"
else
  echo "the grader ended with $status; students see that the grader failed" >&2
fi
exit 0
"""

SETUP = """\
#!/usr/bin/env bash
# Install requirements.txt in a virtual environment next to this file. run_autograder uses the
# Python of this environment, and runs attn-drill from the folder package/.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ -d "$here/package" ] || here=${AUTOGRADER_ROOT:-/autograder}/source

python=${PYTHON:-python3}
if ! "$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then
  apt-get update
  apt-get install -y python3-venv
fi

# pip's own settings name the source of the packages. If pip.conf is next to this file, use it,
# for example to install CPU builds of torch.
if [ -f "$here/pip.conf" ]; then export PIP_CONFIG_FILE=$here/pip.conf; fi
"$python" -m venv --clear "$here/venv"
"$here/venv/bin/python" -m pip --disable-pip-version-check install --no-cache-dir \\
  -r "$here/requirements.txt"

# The sandbox hides solutions from submissions. Hide them from other users of this machine, too.
for folder in package pack venv; do
  if [ -d "$here/$folder" ]; then chmod -R go= "$here/$folder"; fi
done
# Write to the log how submissions are isolated here.
PYTHONPATH=$here/package "$here/venv/bin/python" -m attn_drill doctor || true
"""

README = """\
# A Gradescope autograder

1. Zip the files in this folder, not the folder itself: `zip -r ../autograder.zip .`
2. In the assignment's settings, give 100 autograder points. In "Configure Autograder", choose this
   zip, a base image with Python 3.11 or newer (Ubuntu 24.04), and a container with at least 2 GB of
   memory.
3. "Test Autograder" with a right and a wrong answer. The log of the build ends with a list of what
   isolates a submission on Gradescope's machines. If the grader refuses to run because the
   isolation is too weak, add `--allow-weaker-isolation` to `options` in `run_autograder`.

- `assignment.toml` names the challenges, and sets what students see. Students hand in the files
  that the challenges name.
- torch for graphics cards takes gigabytes. With a `pip.conf` here that names an index with CPU
  builds, the image is a tenth of that size.
- `pack/`, if it exists, has the challenges that are not part of attn-drill.
- `package/` is attn-drill, and `requirements.txt` has the versions of the packages that it uses.
- The solutions are in `package/` and `pack/`. Do not give this folder to students.
"""

_OURS = ("run_autograder", "setup.sh", "assignment.toml")
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", ".*")


@dataclass(frozen=True)
class HandoutTask:
    """A challenge as the students get it."""

    assigned: AssignedChallenge
    title: str
    file: str  # the name of the file to hand in
    entry: tuple[str, ...]  # the names that the file must define
    prompt: str  # in Markdown
    checks: Sequence[str]  # their names

    @property
    def html(self) -> Markup:
        """The task as HTML without its heading. HTML in the Markdown is shown as text."""
        body = self.prompt.partition("\n")[2] if self.prompt.startswith("# ") else self.prompt
        tokens = _MARKDOWN.parse(visible(body, lines=True))
        for token in tokens:
            if token.type in ("th_open", "td_open"):  # the page's policy forbids their styles
                token.attrs = {"scope": "col"} if token.tag == "th" else {}
        return Markup(_MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {}))


def handout_html(assignment: Assignment, tasks: Sequence[HandoutTask]) -> Iterator[str]:
    """Yield the page in small pieces."""
    return page(
        "handout",
        title=assignment.title,
        assignment=assignment,
        tasks=tasks,
        shares=challenge_shares(assignment),
        rules=rules(assignment),
        check_weights=check_weights,
    )


def write_autograder(folder: Path, assignment_toml: str, others: Sequence[Challenge] = ()) -> None:
    """Write all files that the platform needs into a new folder, or over an earlier autograder.

    The challenges from other packs become the pack of the autograder. Raise DrillError if the
    folder holds other files or cannot be written, or if attn-drill is not installed.
    """
    requirements = _requirements()
    _clear(folder)
    pack = built_in_pack()
    copies = {PACKAGE: "package/attn_drill"}
    if PACKAGE not in pack.parents:  # the pack of a wheel is inside the package
        for part in ("challenges", "solutions"):
            copies[pack / part] = f"package/attn_drill/_pack/{part}"
    for other in others:
        copies[other.folder] = f"pack/challenges/{other.folder.name}"
        copies[other.solutions] = f"pack/solutions/{other.folder.name}"
    try:
        for source, target in copies.items():
            shutil.copytree(source, folder / target, ignore=_LEFT_OUT)
        for name, text in {
            "assignment.toml": assignment_toml,
            "README.md": README,
            "requirements.txt": requirements,
            "setup.sh": SETUP,
            "run_autograder": RUN_AUTOGRADER,
        }.items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
        for name in ("setup.sh", "run_autograder"):
            (folder / name).chmod(0o755)
    except OSError as error:
        raise DrillError(f"{folder} cannot be written: {error}. Name another folder.") from None


def _clear(folder: Path) -> None:
    """Remove the package and the pack of an earlier autograder. Refuse every other folder.

    Other files of an earlier autograder stay, for example a pip.conf.
    """
    if folder.is_dir() and any(folder.iterdir()):
        missing = [name for name in _OURS if not (folder / name).is_file()]
        if missing:
            raise DrillError(
                f"{folder} is not empty and is not an autograder (it has no {missing[0]}). Name a"
                " new folder."
            )
        for name in ("package", "pack"):
            shutil.rmtree(folder / name, ignore_errors=True)


def _requirements() -> str:
    """Return the installed versions of the packages that attn-drill needs."""
    try:
        needed = [line for line in metadata.requires("attn-drill") or () if "extra ==" not in line]
        names = [re.split(r"[^\w.-]", line)[0] for line in needed]
        # The part after a plus names a build, which another index may not have.
        return "".join(f"{name}=={metadata.version(name).partition('+')[0]}\n" for name in names)
    except metadata.PackageNotFoundError as error:
        raise DrillError(
            f"The package {error.name} is not installed, so its version for the autograder is not"
            " known. Install attn-drill as its README says, then try again."
        ) from None
