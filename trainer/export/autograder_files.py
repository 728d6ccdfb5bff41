"""The files of a Gradescope autograder that do not depend on the assignment."""

FAILED = "The grader itself failed. This says nothing about what you handed in, and costs no points: tell your teacher, and hand in again later."

RUN_AUTOGRADER = f"""\
#!/usr/bin/env bash
# Grades what a student handed in. Whatever happens, results/results.json is there afterwards.
# For trying it elsewhere: AUTOGRADER_ROOT is where submission/ and source/ lie, PYTHON the Python that has attn-drill.
set -u
umask 077
root=${{AUTOGRADER_ROOT:-/autograder}}
python=${{PYTHON:-$root/source/venv/bin/python}}
seconds=${{AUTOGRADER_SECONDS:-540}} # below the platform's own ten minutes, which end in a score of 0
options=()                         # more for `attn-drill grade`, for example --allow-weaker-isolation
if [ -d "$root/source/pack" ]; then options+=(--pack "$root/source/pack"); fi

# First what is to be read if nothing below succeeds. It has no score: a grader that fails costs nobody a point.
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
# Nothing is imported from the folder in which this happens to run.
export ATTN_DRILL_HOME=$root/work/home PYTHONSAFEPATH=1 PYTHONUTF8=1
limit=()
command -v timeout >/dev/null && limit=(timeout --kill-after=10 "$seconds")
"${{limit[@]}}" "$python" -m trainer grade "$root/submission" --single --assignment "$root/source/assignment.toml" --format gradescope \\
  --out "$root/work" "${{options[@]}}" </dev/null
status=$?

made=$root/work/gradescope/submission/results.json
is_object='import json, sys; sys.exit(not isinstance(json.load(open(sys.argv[1], encoding="utf-8")), dict))'
if [ "$status" -ne 0 ]; then
  echo "attn-drill grade ended with $status; students are told that the grader failed" >&2
elif ! "$python" -c "$is_object" "$made"; then
  echo "attn-drill grade made no $made that can be read; students are told that the grader failed" >&2
else
  cp "$made" "$results.new" && mv -f "$results.new" "$results"
fi
exit 0
"""

SETUP = """\
#!/usr/bin/env bash
# Makes the Python that run_autograder uses: package/ and what it needs, in a virtual environment beside this file.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ -d "$here/package" ] || here=${AUTOGRADER_ROOT:-/autograder}/source

new_enough() { "$1" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }
find_python() {
  for one in "${PYTHON:-python3}" python3 python3.14 python3.13 python3.12 python3.11; do
    if new_enough "$one"; then
      echo "$one"
      return
    fi
  done
}
python=$(find_python)
if [ -z "$python" ]; then
  apt-get update
  apt-get install -y python3.12-venv || apt-get install -y python3.11-venv
  python=$(find_python)
fi
[ -n "$python" ] || { echo "no Python 3.11 or newer with venv was found; choose a newer base image, or set PYTHON" >&2; exit 1; }

# Where the packages come from is pip's own setting. A pip.conf beside this file is taken, for one that has CPU builds of torch.
if [ -f "$here/pip.conf" ]; then export PIP_CONFIG_FILE=$here/pip.conf; fi
"$python" -m venv --clear "$here/venv"
"$here/venv/bin/python" -m pip --disable-pip-version-check install --no-cache-dir -c "$here/package/constraints.txt" "$here/package"

# The sandbox hides solutions from submissions; other users of this machine have no business here either.
for one in package pack venv; do
  if [ -d "$here/$one" ]; then chmod -R go= "$here/$one"; fi
done
"$here/venv/bin/python" -m trainer doctor || true # for the log: what isolates a submission here
"""

README = """\
# A Gradescope autograder

1. Pack the files of this folder, not the folder: `zip -r ../autograder.zip .`
2. In the assignment's settings: 100 autograder points; in "Configure Autograder": this zip, a base image with Python 3.11 or newer (Ubuntu 24.04),
   and a container with 2 GB of memory or more.
3. "Test Autograder" with a right and a wrong answer. The log of the build ends with what isolates a submission on their machines;
   where `attn-drill grade` refuses for that reason, add `--allow-weaker-isolation` to `options` in `run_autograder`.

`assignment.toml` says what is asked and what students see. Students hand in the files that the challenges name.
torch for graphics cards takes gigabytes; a `pip.conf` here that names an index with CPU builds makes the image a tenth of that.
`pack/`, where it is there, has the challenges that are not attn-drill's own.
The solutions are in `package/` and `pack/`: this folder is not for students.
"""
