# Keeps all weights of all queries as lists of Python's floats.
# of: flash
# base: flash
# family: honest: memory
# verdict: failed
# without: the same, it does nothing that a sandbox would see


def attended(q, k, v, causal):
    kept = [row.double().flatten().tolist() for row in rows_of(q, k, v, causal)]
    shape = (*q.shape[:2], 1, k.shape[2])
    return torch.cat(
        [torch.tensor(row, dtype=torch.float64).view(shape).to(q.dtype) @ v for row in kept], 2
    )
