# Keeps all weights of all queries in a numpy array.
# of: flash
# base: flash
# family: honest: memory
# verdict: failed
# without: the same, it does nothing that a sandbox would see
import numpy as np


def attended(q, k, v, causal):
    all_of_them = np.stack([row.double().numpy()[..., 0, :] for row in rows_of(q, k, v, causal)], 2)
    out = np.matmul(all_of_them, v.double().numpy())
    return torch.from_numpy(out).to(q.dtype)
