"""The search for packages with an entry point of the group `attn_drill.packs`."""

from pathlib import Path

from trainer.packs.entry_points import entry_points_of, packages_with_packs


def install(site: Path, folder: str, text: str) -> None:
    """Write a package's `entry_points.txt`."""
    (site / folder).mkdir()
    (site / folder / "entry_points.txt").write_text(text)


def test_only_packages_with_the_group_are_found(tmp_path: Path) -> None:
    """Wheels and eggs count. Packages without entry points and missing folders are skipped."""
    install(tmp_path, "course-1.0.dist-info", "[attn_drill.packs]\ncourse = course\n")
    install(tmp_path, "old-1.0-py3.11.egg-info", "[attn_drill.packs]\nold = old\n")
    install(tmp_path, "other-2.0.dist-info", "[console_scripts]\nother = other:main\n")
    (tmp_path / "bare-1.0.dist-info").mkdir()
    found = packages_with_packs([str(tmp_path / "missing"), str(tmp_path)])
    assert [package for package, _ in found] == ["course", "old"]


def test_entries_of_other_groups_are_skipped() -> None:
    """Comments do not count, and extras are removed from a value."""
    text = "\n".join(
        [
            "[console_scripts]",
            "other = other:main",
            "[ attn_drill.packs ]",
            "# comment = nothing",
            "; comment = nothing",
            "course=course_pack",
            "deep = outer.inner : FOLDER [extra]",
            "[more]",
            "last = last",
        ]
    )
    assert list(entry_points_of(text)) == [
        ("course", "course_pack"),
        ("deep", "outer.inner : FOLDER"),
    ]
