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
# More options for `attn-drill grade`, for example --allow-weaker-isolation.
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
"${{limit[@]}}" "$python" -m trainer grade "$root/submission" --single \\
  --assignment "$root/source/assignment.toml" --format gradescope \\
  --out "$root/work" "${{options[@]}}" </dev/null
status=$?

made=$root/work/gradescope/submission/results.json
is_object='import json, sys
sys.exit(not isinstance(json.load(open(sys.argv[1], encoding="utf-8")), dict))'
shown="students see that the grader failed"
if [ "$status" -ne 0 ]; then
  echo "attn-drill grade ended with $status; $shown" >&2
elif ! "$python" -c "$is_object" "$made"; then
  echo "attn-drill grade did not write a readable $made; $shown" >&2
else
  cp "$made" "$results.new" && mv -f "$results.new" "$results"
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

new_enough() {
  "$1" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1
}
find_python() {
  for name in "${PYTHON:-python3}" python3 python3.14 python3.13 python3.12 python3.11; do
    if new_enough "$name"; then
      echo "$name"
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
if [ -z "$python" ]; then
  echo "no Python 3.11 or newer with venv was found; choose a newer base image, or set PYTHON" >&2
  exit 1
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
PYTHONPATH=$here/package "$here/venv/bin/python" -m trainer doctor || true
"""

README = """\
# A Gradescope autograder

1. Zip the files in this folder, not the folder itself: `zip -r ../autograder.zip .`
2. In the assignment's settings, give 100 autograder points. In "Configure Autograder", choose this
   zip, a base image with Python 3.11 or newer (Ubuntu 24.04), and a container with at least 2 GB of
   memory.
3. "Test Autograder" with a right and a wrong answer. The log of the build ends with a list of what
   isolates a submission on Gradescope's machines. If `attn-drill grade` refuses to run because the
   isolation is too weak, add `--allow-weaker-isolation` to `options` in `run_autograder`.

- `assignment.toml` names the challenges, and sets what students see. Students hand in the files
  that the challenges name.
- torch for graphics cards takes gigabytes. With a `pip.conf` here that names an index with CPU
  builds, the image is a tenth of that size.
- `pack/`, if it exists, has the challenges that are not part of attn-drill.
- `package/` is attn-drill, and `requirements.txt` has the versions of the packages that it uses.
- The solutions are in `package/` and `pack/`. Do not give this folder to students.
"""
