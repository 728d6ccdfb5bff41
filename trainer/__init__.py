"""attn-drill: practise implementing attention in PyTorch from memory, with a grader that says where and why.

In a notebook: `from trainer import check; check("gqa", MyClass)`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trainer.notebook.live import check

__all__ = ["__version__", "check"]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """`check`, imported when it is first asked for: every command imports this file."""
    if name == "check":
        from trainer.notebook.live import check  # noqa: PLC0415 - see above

        return check
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
