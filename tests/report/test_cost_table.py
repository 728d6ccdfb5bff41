"""Tests of the table of `attn-drill compare`."""

import re

import pytest

from attn_drill.report.tools_text import render_costs
from attn_drill.tools.attention_costs import configure, costs, find_preset
from tests.support.report import lines_of


def shown_lines(*settings: str, preset: str = "", width: int = 80) -> list[str]:
    """Return the lines that a terminal of this width shows."""
    published = find_preset(preset) if preset else None
    sizes = configure(published, settings)
    return lines_of([render_costs(sizes, published, costs(sizes), width)], width)


def test_table_has_a_line_for_each_variant() -> None:
    """The last column has bars of the caches."""
    rows = [re.split(r" {2,}", line) for line in shown_lines()[2:8]]
    assert rows[0] == ["variant", "parameters", "KV cache", "of MHA", "a token"]
    assert [row[:-1] for row in rows[1:]] == [
        ["MHA", "67,108,864", "64 MiB", "100.0 %", "32 KiB"],
        ["GQA, 8 KV heads", "41,943,040", "16 MiB", "25.0 %", "8 KiB"],
        ["GQA, 4 KV heads", "37,748,736", "8 MiB", "12.5 %", "4 KiB"],
        ["MQA", "34,603,008", "2 MiB", "3.1 %", "1 KiB"],
        ["MLA", "48,496,640", "4.5 MiB", "7.0 %", "2.25 KiB"],
    ]


def test_notes_explain_the_numbers() -> None:
    """The text says how the published model differs from the configuration."""
    lines = shown_lines("batch=2,dtype=float32", "num_layers=4", preset="mistral-7b")
    assert lines[0].startswith("Mistral-7B: d_model 4096, 32 heads of 128, 2048 tokens, batch 2, ")
    words = " ".join(" ".join(lines).split())
    assert "Parameters and cache are those of all 4 layers." in words
    assert "A number of float32 has 4 bytes." in words
    assert words.endswith("Mistral-7B itself has GQA with 8 KV heads.")


@pytest.mark.parametrize("width", [120, 70, 69, 40])
def test_table_fits_the_terminal(width: int) -> None:
    """From 70 columns on, it has bars."""
    lines = shown_lines(width=width)
    assert max(map(len, lines)) <= width
    bars = sum(bool(re.search("[█▉▊▋▌▍▎▏]", line)) for line in lines)
    assert bars == (5 if width >= 70 else 0)
