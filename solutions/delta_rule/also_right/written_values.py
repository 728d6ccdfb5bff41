"""Keep the list of steps that were written instead of a state, and read it like attention.

A query reads all earlier steps with the weights q . k times the decay in between, so this is causal
attention over corrected values. The work grows with the square of the length, but you need no state
until the end.
"""

import torch


def gated_delta_rule(q, k, v, beta, decay, state=None):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v, beta, decay = (x.to(wide) for x in (q, k, v, beta, decay))
    if state is not None:
        state = state.to(wide)
    length = q.shape[2]
    log = decay.log().cumsum(-1)

    def read(vector, t, steps):
        """Return S vector after the fading of token t, before the write of token t."""
        found = 0
        if state is not None:
            found = torch.einsum("bhed,bhd->bhe", state, vector) * log[:, :, t, None].exp()
        if steps:
            past = len(steps)
            weights = torch.einsum("bhd,bhjd->bhj", vector, k[:, :, :past])
            weights = weights * (log[:, :, t, None] - log[:, :, :past]).exp()
            found = found + torch.einsum("bhj,bhje->bhe", weights, torch.stack(steps, 2))
        return found

    steps, outs = [], []
    for t in range(length):
        steps.append(beta[:, :, t, None] * (v[:, :, t] - read(k[:, :, t], t, steps)))
        outs.append(read(q[:, :, t], t, steps))
    fades = (log[:, :, -1:] - log).exp()
    S = torch.einsum("bhl,bhle,bhld->bhed", fades, torch.stack(steps, 2), k)
    if state is not None:
        S = S + state * log[:, :, -1, None, None].exp()
    return torch.stack(outs, 2).to(dtype), S
