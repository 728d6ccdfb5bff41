"""attn-drill: practise implementing attention in PyTorch from memory.

A grader shows where an answer goes wrong and why.

In a notebook, `%load_ext attn_drill` adds the cell magic `%%drill`.
"""

__all__ = ["__version__", "load_ipython_extension"]
__version__ = "0.2.0"


def load_ipython_extension(ipython: object) -> None:
    """Register the cell magic `%%drill`. IPython calls this for `%load_ext attn_drill`."""
    from attn_drill.notebook import register  # noqa: PLC0415  # every command imports this file

    register(ipython)
