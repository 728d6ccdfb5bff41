"""The settings in config.toml, and the environment variables that win over them."""

from pathlib import Path

import pytest

from attn_drill.app.open_packs import Settings, config_path, settings, sources
from attn_drill.model.errors import DrillError

ALL = Settings("zh", ("~/course", "/packs/mine"), "light", "guided", True, 15)
TEXT = """\
language = "zh"
packs = ["~/course", "/packs/mine"]
theme = "light"
level = "guided"
hints_first = true
review_minutes = 15
"""


def write(home: Path, text: str) -> Path:
    """Write config.toml."""
    home.mkdir()
    (home / "config.toml").write_text(text)
    return home / "config.toml"


def test_settings_hold_as_the_file_says(home: Path) -> None:
    """Without a file the defaults hold."""
    assert settings() == Settings()
    assert set(sources().values()) == {"default"}
    assert write(home, TEXT) == config_path()
    assert settings() == ALL
    assert set(sources().values()) == {"config.toml"}


def test_platform_has_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without ATTN_DRILL_HOME, the file is where programs of this platform have theirs."""
    monkeypatch.delenv("ATTN_DRILL_HOME")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert config_path().parts[-2:] == ("attn-drill", "config.toml")


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("LANG", "de_DE.UTF-8", ("de", ALL.packs, "light")),
        ("PACK", "one:two", ("zh", ("one", "two"), "light")),
        ("THEME", "Dark", ("zh", ALL.packs, "dark")),
        ("THEME", "pink", ("zh", ALL.packs, "light")),
    ],
)
def test_variable_wins(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
    expected: tuple[str, tuple[str, ...], str],
) -> None:
    """`sources` names the variable."""
    write(home, TEXT)
    monkeypatch.setenv(f"ATTN_DRILL_{variable}", value)
    chosen = settings()
    assert (chosen.language, chosen.packs, chosen.theme) == expected
    assert f"ATTN_DRILL_{variable}" in sources().values()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("levle = 'blank'", "line 1: `levle` is not a key here. Did you mean `level`?"),
        ("\nlevel = 'hard'", 'line 2: `level` is "hard". Write "arrange" or "guided"'),
        ("review_minutes = 1", "line 1: `review_minutes` is 1. Write a whole number >= 5."),
        ("theme = dark", "is not valid TOML: Invalid value (at line 1, column 9). Put text in"),
    ],
)
def test_mistake_is_one_sentence_with_file_line_and_key(home: Path, text: str, says: str) -> None:
    """The sentence has the next step."""
    path = write(home, text)
    with pytest.raises(DrillError) as error:
        settings()
    assert str(error.value).startswith(f"{path}")
    assert says in str(error.value)
