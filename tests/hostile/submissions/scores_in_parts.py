# Keeps all weights of all queries in one tensor for each query.
# of: flash
# base: flash
# family: honest: memory
# verdict: failed
# without: the same, it does nothing that a sandbox would see


def attended(q, k, v, causal):
    kept = list(rows_of(q, k, v, causal))
    return torch.cat([row @ v for row in kept], dim=2)
