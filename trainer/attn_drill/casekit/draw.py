"""Draw random inputs for cases: normal values, masks, positions and sizes.

All draws depend only on the seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from attn_drill.model.case import Case, size_of
from attn_drill.model.errors import PackError

# Draws after which sizes count as impossible. Seven sizes from seven numbers need 160 on average.
_MOST_TRIES = 20_000


class Draw:
    """A seeded source of sizes and tensors for `cases(draw)`.

    Sizes and values come from two random streams. The grader calls every case twice: with the same
    `seed` and another `values`, the cases have the same shapes and other values.
    """

    Case = Case

    def __init__(self, seed: int, values: int = 0) -> None:
        self._sizes = torch.Generator().manual_seed(seed)
        self._values = torch.Generator().manual_seed(
            (seed + 0x9E3779B97F4A7C15 * (values + 1)) % (1 << 63)
        )

    def normal(self, *shape: int, scale: float = 1.0) -> Tensor:
        """Return float64 entries from a normal distribution with standard deviation `scale`."""
        return torch.randn(shape, generator=self._values, dtype=torch.float64) * scale

    def normal_with_zeros(self, *shape: int, row: int = 1) -> Tensor:
        """Return normal entries with one row of zeros in every matrix; axis -2 is the rows.

        A token of zeros has a score of 0 with all other tokens.
        """
        drawn = self.normal(*shape)
        drawn[..., row, :] = 0
        return drawn

    def uniform(self, *shape: int, low: float = 0.0, high: float = 1.0) -> Tensor:
        """Return float64 entries from a uniform distribution on [low, high)."""
        return torch.rand(shape, generator=self._values, dtype=torch.float64) * (high - low) + low

    def integers(self, *shape: int, low: int = 0, high: int) -> Tensor:
        """Return int64 entries in [low, high)."""
        return torch.randint(low, high, shape, generator=self._values)

    def positions(self, *shape: int, high: int = 20) -> Tensor:
        """Return unordered int64 positions from 0 to `high` - 1.

        Every row of two or more entries contains both, at other places than the row above.
        """
        positions = self.integers(*shape, high=high)
        length = shape[-1]
        if length > 1:
            rows = positions.view(-1, length)
            index = torch.arange(len(rows))
            rows[index, index % length] = high - 1
            rows[index, (index + 1) % length] = 0
        return positions

    def distinct(self, *ranges: tuple[int, int]) -> tuple[int, ...]:
        """Return one size from every range; the sizes are all different.

        Ranges include both ends. The sizes do not depend on the stream of values.
        """
        for ends in ranges:
            is_range = isinstance(ends, tuple | list) and [type(end) for end in ends] == [int, int]
            if not is_range or ends[0] > ends[1]:
                raise PackError(
                    f"{ends!r} is not a range of sizes. Write the smallest and the largest size, "
                    "as in draw.sizes(B=(2, 5))."
                )
        for _ in range(_MOST_TRIES):
            sizes = tuple(
                int(torch.randint(low, high + 1, (), generator=self._sizes)) for low, high in ranges
            )
            if len(set(sizes)) == len(sizes):
                return sizes
        raise _no_different_sizes(*ranges)

    def sizes(
        self,
        *,
        times: Mapping[str, str | int] | None = None,
        sums: Mapping[str, Sequence[str | int]] | None = None,
        **ranges: tuple[int, int],
    ) -> dict[str, int]:
        """Return one size for every letter, all different: `draw.sizes(B=(2, 3), L=(6, 9))`.

        Args:
            times: `{"H": "Hkv"}` makes H a multiple of Hkv, `{"D": 2}` makes D even. The range of H
                or D then gives the factor.
            sums: `{"L": ("first", "second", 1)}` makes L the sum of these sizes and numbers.
        """
        for _ in range(_MOST_TRIES):
            drawn = dict(zip(ranges, self.distinct(*ranges.values()), strict=True))
            for letter, unit in (times or {}).items():
                factor = unit if isinstance(unit, int) else size_of(unit, drawn, f"times={times}")
                drawn[letter] = size_of(letter, drawn, f"times={times}") * factor
            for letter, parts in (sums or {}).items():
                drawn[letter] = sum(
                    size_of(part, drawn, f"sums={sums}") if isinstance(part, str) else part
                    for part in parts
                )
            if len(set(drawn.values())) == len(drawn):
                return drawn
        raise _no_different_sizes(*ranges.values())

    def keep(self, *shape: int, share: float = 0.6) -> Tensor:
        """Return a random boolean mask in which about `share` of the entries are True.

        Every row of two or more entries has at least one True and one False.
        """
        mask = torch.rand(shape, generator=self._values) < share
        length = shape[-1]
        if length == 1:
            return torch.ones(shape, dtype=torch.bool)
        kept = torch.randint(length, shape[:-1], generator=self._values)
        lost = (kept + torch.randint(1, length, shape[:-1], generator=self._values)) % length
        mask.scatter_(-1, kept.unsqueeze(-1), True)
        mask.scatter_(-1, lost.unsqueeze(-1), False)
        return mask

    def padding(self, batch: int, length: int, side: str = "right") -> Tensor:
        """Return a bool mask [batch, length] of real tokens. Batch items differ in length."""
        first = int(torch.randint(length, (), generator=self._values))
        lengths = (first + torch.arange(batch) * max(1, length // max(batch, 1))) % length + 1
        if bool((lengths == length).all()):
            lengths[0] = max(1, length - 1)
        real = torch.arange(length) < lengths[:, None]
        return real if side == "right" else real.flip(-1)

    def causal(self, q_len: int, k_len: int | None = None) -> Tensor:
        """Return a bool mask [q_len, k_len]: query i sees key j iff j <= i + (k_len - q_len).

        >>> Draw(0).causal(2, 4).int()
        tensor([[1, 1, 1, 0],
                [1, 1, 1, 1]], dtype=torch.int32)
        """
        k_len = q_len if k_len is None else k_len
        return torch.ones(q_len, k_len, dtype=torch.bool).tril(k_len - q_len)

    def masks(self, batch: int, heads: int, q_len: int, k_len: int) -> dict[str, Tensor]:
        """Return one mask of every shape that the contract allows. The keys are names in words.

        Masks have 2 or 4 dims and broadcast to [B, H, Lq, Lk]. Every row has at least one True.
        Three dims mean [H, Lq, Lk] by broadcasting and [B, Lq, Lk] in much code: no case has them.
        """
        right, left = self.padding(batch, k_len), self.padding(batch, k_len, side="left")
        both = self.causal(q_len, k_len) & right[:, None, None, :]
        both[..., 0] = True  # every row needs at least one key
        return {
            "causal mask [Lq, Lk]": self.causal(q_len, k_len),
            "causal band [Lq, Lk]": self.causal(q_len, k_len).triu(k_len - q_len - 1),
            "padding mask, right [B, 1, 1, Lk]": right[:, None, None, :],
            "padding mask, left [B, 1, 1, Lk]": left[:, None, None, :],
            "mask with holes [1, 1, Lq, Lk]": self.keep(1, 1, q_len, k_len),
            "one row for all queries [1, Lk]": self.keep(1, k_len),
            "causal and padding [B, 1, Lq, Lk]": both,
            "one mask per head [1, H, 1, Lk]": self.keep(1, heads, 1, k_len),
            "one row for everything [1, 1, 1, Lk]": self.keep(1, 1, 1, k_len),
            "one row per sequence and head [B, H, 1, Lk]": self.keep(batch, heads, 1, k_len),
            "full mask [B, H, Lq, Lk]": self.keep(batch, heads, q_len, k_len),
        }


def _no_different_sizes(*ranges: tuple[int, int]) -> PackError:
    shown = ", ".join(f"{low} to {high}" for low, high in ranges)
    return PackError(
        f"no sizes that all differ can be drawn from the ranges {shown}. Widen a range, or draw "
        "fewer sizes at a time."
    )
