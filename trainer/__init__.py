"""attn-drill: practise implementing attention in PyTorch from memory.

A grader shows where an answer goes wrong and why.

In a notebook, `%load_ext trainer` adds the cell magic `%%drill`.
"""

__all__ = ["__version__", "load_ipython_extension"]
__version__ = "0.2.0"


def load_ipython_extension(ipython: object) -> None:
    """Register the cell magic `%%drill`. IPython calls this for `%load_ext trainer`."""
    from trainer.notebook import register  # noqa: PLC0415  # every command imports this file

    register(ipython)


def __getattr__(name: str) -> object:
    if name == "check":
        # `from trainer import check` would hide the message of an AttributeError.
        raise ImportError(
            "trainer.check is gone. Run `%load_ext trainer`, then write `%%drill ID` as the first "
            "line of the cell that holds your answer."
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
