"""Broken and unusual files that the tests generate.

They are too long to be kept, or an editor or git would change their bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

RIGHT = (
    b"def prefix_sum(x, reverse=False):\n"
    b"    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)\n"
)


@dataclass(frozen=True)
class Generated:
    """A file with a prefix sum, its correct verdict, and a pattern for the report's message."""

    name: str
    content: bytes
    verdict: str
    says: str = ""


GENERATED = [
    Generated("byte_order_mark", b"\xef\xbb\xbf" + RIGHT, "passed"),
    Generated("windows_line_ends", RIGHT.replace(b"\n", b"\r\n"), "passed"),
    Generated("old_line_ends", RIGHT.replace(b"\n", b"\r"), "passed"),
    Generated("all_line_ends", b"#\r\n#\r#\x0b\x0c\xc2\x85\xe2\x80\xa8\n" + RIGHT, "passed"),
    Generated("no_last_line_end", RIGHT.rstrip(), "passed"),
    Generated("huge_docstring", b'"""' + b"All about sums. " * 60_000 + b'"""\n' + RIGHT, "passed"),
    Generated("many_lines", b"\n" * 100_000 + b"# and now\n" * 10_000 + RIGHT, "passed"),
    Generated("one_long_line", b"table = [" + b"0," * 300_000 + b"]\n" + RIGHT, "passed"),
    Generated(
        "many_functions",
        b"".join(b"def f%d(): pass\n" % number for number in range(10_000)) + RIGHT,
        "passed",
    ),
    Generated("parentheses", b"(" * (1 << 20), "error", "SyntaxError"),
    Generated("nested_lists", RIGHT + b"nest = " + b"[" * 150 + b"]" * 150, "passed"),
    Generated(
        "nested_minuses",
        RIGHT + b"x = " + b"-" * 100_000 + b"1",
        "error",
        "SyntaxError: the file is nested too deeply|RecursionError",
    ),
    Generated(
        "nested_blocks",
        b"".join(b" " * depth + b"if 1:\n" for depth in range(200)),
        "error",
        "too many levels of indentation",
    ),
    Generated(
        "long_sum", RIGHT + b"x = " + b"1+" * 100_000 + b"1", "error", "SyntaxError|RecursionError"
    ),
    Generated(
        "huge_literal",
        b"x = " + b"9" * 5000 + b"\n" + RIGHT,
        "error",
        "SyntaxError: Exceeds the limit",
    ),
    Generated("lone_surrogate", b's = "\\ud800"\nprint(s)\n' + RIGHT, "passed"),
    Generated(
        "invisible_characters",
        b"\xe2\x80\x8b" + RIGHT,
        "error",
        "SyntaxError: invalid non-printable character",
    ),
    Generated("turned_text", b"# \xe2\x80\xae\n" + RIGHT, "passed"),
    Generated("invalid_escape", b's = "\\d \\N{no such name}"\n' + RIGHT, "error", "SyntaxError"),
    Generated("a_dot", b".", "error", "SyntaxError"),
]
