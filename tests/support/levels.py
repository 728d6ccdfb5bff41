"""Helpers of the tests of levels."""

GUIDED = '''"""What it is."""

import torch  # stays, it is no line of its own


class A:
    """Doc.

    More.
    """

    def f(self, x="# no comment"):
        """Doc of f."""
        # 1. First. -> [B]
        # 2. Second, which
        #    goes on. -> [L]
        raise NotImplementedError
'''


STANDARD = GUIDED.replace(
    "        # 1. First. -> [B]\n        # 2. Second, which\n        #    goes on. -> [L]\n", ""
)
