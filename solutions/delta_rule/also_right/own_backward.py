"""Write the backward pass by hand: a recurrence that runs from the last token to the first.

The forward pass keeps the states, and the backward pass hands the gradient of the state from token
to token, as training kernels do. The code is twice as long, and second derivatives are silently
wrong.
"""

import torch


class Recurrence(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, beta, decay, S):
        states, outs = [S], []
        for t in range(q.shape[2]):
            faded = S * decay[:, :, t, None, None]
            error = v[:, :, t] - (faded * k[:, :, t, None, :]).sum(-1)
            S = faded + (beta[:, :, t, None] * error)[..., None] * k[:, :, t, None, :]
            states.append(S)
            outs.append((S * q[:, :, t, None, :]).sum(-1))
        ctx.save_for_backward(q, k, v, beta, decay, *states)
        return torch.stack(outs, 2), S

    @staticmethod
    def backward(ctx, g_out, g_last):
        q, k, v, beta, decay, *states = ctx.saved_tensors
        grads = [torch.zeros_like(x) for x in (q, k, v, beta, decay)]
        gq, gk, gv, gb, gd = grads
        G = g_last.clone()
        for t in reversed(range(q.shape[2])):
            before, after = states[t], states[t + 1]
            kt, bt, dt = k[:, :, t, None, :], beta[:, :, t, None], decay[:, :, t, None, None]
            g = g_out[:, :, t, :, None]
            gq[:, :, t] = (after * g).sum(-2)
            G = G + g * q[:, :, t, None, :]
            faded = before * dt
            error = v[:, :, t] - (faded * kt).sum(-1)
            g_step = (G * kt).sum(-1)
            gk[:, :, t] = (G * (bt * error)[..., None]).sum(-2)
            gb[:, :, t] = (g_step * error).sum(-1)
            g_error = bt * g_step
            gv[:, :, t] = g_error
            gk[:, :, t] -= (faded * g_error[..., None]).sum(-2)
            G = G - g_error[..., None] * kt
            gd[:, :, t] = (G * before).sum((-1, -2))
            G = G * dt
        return *grads, G


def gated_delta_rule(q, k, v, beta, decay, state=None):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v, beta, decay = (x.to(wide) for x in (q, k, v, beta, decay))
    if state is None:
        state = q.new_zeros(*q.shape[:2], v.shape[-1], q.shape[-1])
    out, S = Recurrence.apply(q, k, v, beta, decay, state.to(wide))
    return out.to(dtype), S
