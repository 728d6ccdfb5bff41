"""The commands `list`, `stats` and `journal`, and the files of pages."""

import contextlib
import json
import re
import time
from datetime import date, timedelta
from pathlib import Path

import pytest

from attn_drill.cli._command_line import check_page_name, write_page
from attn_drill.model.errors import DrillError
from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import read_mistakes
from attn_drill.practice.facts import Attempted, Diagnosed, Reviewed, Started
from attn_drill.practice.journal import Journal
from attn_drill.report.results_text import EMPTY
from tests.support.cli import Run, drill
from tests.support.journal import FACTS, ROOT, filled_journal
from tests.support.packs import make_pack


@pytest.mark.parametrize("columns", [44, 70, 80, 100, 120])
def test_every_challenge_has_its_title_and_its_state(
    columns: int, solved: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The title is beside the id, or on a narrow terminal on the next line."""
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = run("list")[1].splitlines()
    assert max(map(len, lines)) <= columns
    for challenge in pack_reader.read_pack(pack_reader.built_in_pack()):
        (start,) = (
            index for index, line in enumerate(lines) if line.startswith(f"{challenge.id} ")
        )
        assert re.search(rf"{challenge.level} +{challenge.minutes} +new", lines[start])
        assert (challenge.asked in lines[start]) == (columns >= 100)
        first_word = challenge.title.split()[0]
        assert first_word in lines[start if columns >= 80 else start + 1]
        text = " ".join(lines[start : start + 3])
        assert all(word in text for word in challenge.title.split())
        assert columns < 100 or all(base in text for base in challenge.builds_on)


def test_state_follows_the_journal(solved: Path) -> None:
    """The list for people and the list for programs have the same state."""
    drill("check", "gqa", cwd=solved)
    listed = json.loads(drill("list", "--json", cwd=solved).stdout)
    assert {item["id"]: item["state"] for item in listed}["gqa"] == "passed"
    assert re.search(r"^gqa .* passed  Grouped", drill("list", cwd=solved).stdout, re.MULTILINE)


@pytest.mark.parametrize("columns", [44, 60, 80, 120])
def test_list_with_a_pack_fits_the_terminal(
    columns: int, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name of the pack follows the title."""
    monkeypatch.setenv("COLUMNS", str(columns))
    pack = make_pack(tmp_path / "a-pack-of-a-course", "extra")
    _, out, _ = run("list", "--pack", str(pack))
    assert max(map(len, out.splitlines())) <= columns
    lines = out.splitlines()
    (start,) = (index for index, line in enumerate(lines) if line.startswith("extra "))
    assert "(a-pack-of-a-course)" in " ".join(lines[start : start + 3])


def test_title_of_a_pack_is_shown_as_it_is(tmp_path: Path, run: Run) -> None:
    """Its control characters cannot act."""
    title, shown = r"a \u001b[31mb", r"a \x1b[31mb"
    pack = make_pack(tmp_path / "p", "extra")
    file = pack / "challenges" / "extra" / "challenge.toml"
    file.write_text(re.sub(r"(?m)^title = .*", lambda _: f'title = "{title}"', file.read_text()))
    _, out, _ = run("list", "--pack", str(pack))
    (line,) = [line for line in out.splitlines() if line.startswith("extra ")]
    assert line.endswith(f"  {shown} (p)" if shown else "  (p)")


PASSED = pack_reader.read_pack(pack_reader.built_in_pack())[0]


@pytest.fixture
def used_home(home: Path) -> Path:
    """Return a home in which the first challenge was passed today, after a known mistake."""
    with contextlib.closing(Journal(home)) as journal:
        now = time.time()
        journal.add(Started(PASSED.id, now - 2, path="/x"))
        first = journal.add(
            Attempted(PASSED.id, now - 1, seed=1, verdict="failed", source="", seconds=60.0)
        )
        mistakes = (read_mistakes(PASSED)[0].id,)
        journal.add(Diagnosed(PASSED.id, now, attempt=first, mistakes=mistakes, line=3))
        journal.add(Attempted(PASSED.id, now, seed=1, verdict="passed", source="", seconds=90.0))
        journal.add(Reviewed(f"challenge:{PASSED.id}", now, rating=3, reason=""))
        assert journal.trouble is None
    return home


def test_stats_of_an_empty_journal(tmp_path: Path, home: Path) -> None:
    """The text says what to do, and no file is created. JSON is an object with zeros."""
    assert drill("stats", cwd=tmp_path).stdout == EMPTY + "\n"
    values = json.loads(drill("stats", "--json", cwd=tmp_path).stdout)
    assert (values["attempts"], values["passed"], values["mistakes"]) == (0, 0, [])
    assert values["challenges"] == len(pack_reader.read_pack(pack_reader.built_in_pack()))
    assert not home.exists()


@pytest.mark.thorough
@pytest.mark.usefixtures("used_home")
def test_stats_fit_the_terminal_and_its_encoding(tmp_path: Path) -> None:
    """The mistake is described in words of the pack. `--json` prints only JSON."""
    for columns, encoding in ((80, "utf-8"), (50, "utf-8"), (50, "ascii")):
        text = drill("stats", cwd=tmp_path, COLUMNS=str(columns), PYTHONIOENCODING=encoding).stdout
        assert max(map(len, text.splitlines())) <= columns
        assert "1 day in a row" in " ".join(text.split())
        assert PASSED.id in text
        assert text.isascii() == (encoding == "ascii")
    values = json.loads(drill("stats", "--json", cwd=tmp_path).stdout)
    assert values["mistakes"][0]["says"] == read_mistakes(PASSED)[0].says
    assert values["par"] == [{"challenge": None, "shares": [90.0 / (60 * PASSED.minutes)]}]
    assert values["next_due"]["item"] == f"challenge:{PASSED.id}"
    assert all(topic["title"] != topic["name"] for topic in values["topics"]), (
        "titles come from the question bank"
    )


@pytest.mark.thorough
def test_days_are_counted_in_the_local_time_zone(tmp_path: Path, home: Path) -> None:
    """A moment can belong to different days in two time zones."""
    with contextlib.closing(Journal(home)) as journal:
        journal.add(Attempted(PASSED.id, time.time() - 3600, seed=1, verdict="failed", source=""))
    days = set()
    for zone in ("XXX-14", "XXX+12"):
        weeks = json.loads(drill("stats", "--json", cwd=tmp_path, TZ=zone).stdout)["weeks"]
        days |= {
            date.fromisoformat(week["monday"]) + timedelta(days=weekday)
            for week in weeks
            for weekday, count in enumerate(week["attempts"])
            if count
        }
    assert len(days) == 2


def test_broken_journal_is_reported(home: Path, tmp_path: Path) -> None:
    """The exit code is still 0."""
    home.mkdir()
    (home / "journal.sqlite3").write_bytes(b"no journal at all" * 100)
    done = drill("stats", cwd=tmp_path)
    assert "journal.broken-1.sqlite3" in done.stderr
    assert done.stdout == EMPTY + "\n"


LINES = ROOT / "tests" / "practice" / "journal_4.jsonl"


def test_export_is_read_in_another_home(home: Path, tmp_path: Path) -> None:
    """The other home gets all entries once, however often the file is imported."""
    filled_journal(home).close()
    done = drill("journal", "export", "my journal.sqlite3", cwd=tmp_path)
    assert done.stdout == (
        f"my journal.sqlite3 is written: {len(FACTS)} entries of the journal. "
        "`attn-drill journal import 'my journal.sqlite3'` reads it on any machine.\n"
    )
    other = str(tmp_path / "other")
    for new, old in ((len(FACTS), 0), (0, len(FACTS))):
        done = drill("journal", "import", "my journal.sqlite3", cwd=tmp_path, ATTN_DRILL_HOME=other)
        assert done.stdout == f"{new} entries were new, {old} were already in the journal.\n"
    assert (
        "--force" in drill("journal", "export", "my journal.sqlite3", cwd=tmp_path, code=2).stderr
    )


def test_broken_journal_is_not_exported(home: Path, tmp_path: Path) -> None:
    """It is set aside, and the exit code reports that nothing was exported."""
    home.mkdir()
    (home / "journal.sqlite3").write_bytes(b"no journal at all" * 100)
    assert (
        "journal.broken-1.sqlite3" in drill("journal", "export", "a", cwd=tmp_path, code=2).stderr
    )
    assert not (tmp_path / "a").exists()


def test_export_of_an_earlier_version_is_imported(tmp_path: Path) -> None:
    """It has a line for each entry."""
    done = drill("journal", "import", str(LINES), cwd=tmp_path)
    assert done.stdout == "30 entries were new, 0 were already in the journal.\n"


def test_damaged_file_adds_no_entry(tmp_path: Path) -> None:
    """One sentence names the file, and no journal is created."""
    (tmp_path / "cut").write_bytes(LINES.read_bytes()[:-20])
    other = tmp_path / "other"
    done = drill("journal", "import", "cut", cwd=tmp_path, code=2, ATTN_DRILL_HOME=str(other))
    assert done.stderr.startswith("attn-drill: cut is damaged (")
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)
    assert not other.exists()


def test_journal_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    """Nothing is imported, and the exit code says so."""
    (tmp_path / "other" / "journal.sqlite3").mkdir(parents=True)
    other = str(tmp_path / "other")
    done = drill("journal", "import", str(LINES), cwd=tmp_path, code=2, ATTN_DRILL_HOME=other)
    assert "Nothing was imported." in done.stderr
    assert "cannot be used" in done.stderr


@pytest.mark.parametrize("name", ["a.html", "a.HTM", "b.c.html"])
def test_page_is_written(tmp_path: Path, name: str) -> None:
    """The page replaces an older page."""
    path = tmp_path / name
    check_page_name(path)
    write_page(path, "old")
    write_page(path, "é")
    assert path.read_text(encoding="utf-8") == "é"


@pytest.mark.parametrize("name", ["gqa.py", "report", "a.html.bak"])
def test_other_name_is_refused(name: str) -> None:
    """No other file is overwritten, and the sentence names a page."""
    with pytest.raises(DrillError, match=r"must end in \.html.*Name it .*\.html"):
        check_page_name(Path(name))


def test_page_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    """The sentence names the file."""
    with pytest.raises(DrillError, match="cannot be written: Is a directory"):
        write_page(tmp_path, "x")
