"""The files of a Gradescope autograder that do not depend on the assignment."""

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
