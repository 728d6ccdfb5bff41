import torch


def sinusoidal_positions(length, dim, base=10000.0):
    """Return the sine and cosine position table of the original Transformer.

    Column 2i has sin(p / base**(2i/dim)) for the positions p = 0 .. length - 1, and column 2i + 1
    has the cosine of the same angle. An odd dim raises ValueError.
    -> float32 [length, dim], right to 1e-5 up to length 4096.
    """
    # 1. Refuse an odd dim with a ValueError. -> nothing
    # 2. List the positions, in float64. -> [length]
    # 3. Compute the exponents 2i/dim of all pairs of columns, in float64. -> [dim/2]
    # 4. Compute the frequencies: base to the power of minus these exponents. -> [dim/2]
    # 5. Multiply every position by every frequency. -> [length, dim/2]
    # 6. Take the sines of these angles. -> [length, dim/2]
    # 7. Take the cosines of these angles. -> [length, dim/2]
    # 8. Put each sine and its cosine next to each other. -> [length, dim]
    # 9. Return the table in float32. -> [length, dim]
    raise NotImplementedError
