"""Find half-width punctuation in Chinese text, outside code, numbers and addresses."""

import re
from collections.abc import Iterator

CODE = "〓"  # stands for a piece of code
_WIDE = "\u3000-\u303f\u4e00-\u9fff\uff00-\uffef" + CODE
_HIDDEN = re.compile(
    r"```.*?```"  # blocks of code
    r"|`[^`\n]*`"
    r"|(?<=\])\([^)\n]*\)"  # the address of a link
    r"|(?m:^\[[\w-]+\]: .*$)"
    r"|(?m:^(?: {4}|\t).*$)"  # indented code
    r"|<!--.*?-->"
    r"|(?m:^\|[ :|-]+\|$)",  # the line below the head of a table
    re.S,
)
# A comma without a blank after it is a Chinese comma, unless it is in a number.
_BESIDE = re.compile(
    rf"(?<=[{_WIDE}])\s*[,;:?!]|[,;:?!](?=\s*[{_WIDE}])|(?<=[a-zA-Z])(?<!_[a-z]),(?=\w)|(?<=\w)(?<!_[a-z]),(?=[a-zA-Z])"
)
_FORMULA = r"(?![^()\n]* [-+*/=×] )"  # the brackets of `(12 + n)` stay as they are
_BRACKETS = re.compile(
    rf"(?<=[{_WIDE}])\s*\({_FORMULA}[a-zA-Z][a-zA-Z0-9 /.&+-]*\)"
    rf"|\({_FORMULA}[^()\n]*[{_WIDE}][^()\n]*\)"
)


def half_width(text: str) -> Iterator[str]:
    """Yield each place with a comma, colon, question mark or bracket of the wrong width.

    >>> list(half_width("掩码,两维 (可选)"))
    ['掩码,两', '维 (可选)']
    >>> list(half_width("共 50,257 个，`f(x, y)`（可选）：好"))
    []
    """
    plain = _HIDDEN.sub(CODE, text)
    for pattern in (_BESIDE, _BRACKETS):
        for match in pattern.finditer(plain):
            yield plain[max(0, match.start() - 2) : match.end() + 1].strip()
