# mistakes: softmax-of-each-part
"""vmap over the batch; contents and positions each vote with weights of their own."""

import torch


def absorbed_mla_decode(q_nope, q_rope, c_kv, k_rope, w_uk, w_uv):
    scale = (q_nope.shape[-1] + q_rope.shape[-1]) ** -0.5

    def sequence(qn, qr, c, kr):
        absorbed = (qn[:, None, :] @ w_uk)[:, 0]
        by_content = (absorbed @ c.T * scale).softmax(-1)  # first wrong
        by_position = (qr @ kr.T * scale).softmax(-1)
        both = 0.5 * by_content + 0.5 * by_position
        return (w_uv @ (both @ c)[..., None])[..., 0]

    return torch.vmap(sequence)(q_nope, q_rope, c_kv, k_rope)
