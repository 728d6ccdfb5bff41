"""Give the draft a last row of zeros, so that both ends of the result are one formula.

With q = 0 after the whole draft, max(p - q, 0) is p itself, and no branch is left. The copy of the
draft's table costs memory, and it is in float64.
"""

import torch
from torch.nn import functional as F


def accept_draft(draft_tokens, draft_probs, target_probs, uniforms):
    n = draft_tokens.size(0)
    p, q = target_probs.double(), F.pad(draft_probs.double(), (0, 0, 0, 1))
    places = torch.arange(n, device=draft_tokens.device)
    ratio = p[places, draft_tokens] / q[places, draft_tokens]
    # A refusal after the last place ends every search.
    refused = F.pad(uniforms[:n].double() >= ratio.clamp(max=1.0), (0, 1), value=True)
    first = refused.int().argmax()
    excess = (p[first] - q[first]).clamp_min(0.0)
    sums = torch.cumsum(excess / excess.sum(), dim=0)
    token = (sums <= uniforms[n]).sum()
    return torch.cat((draft_tokens[:first], token.view(1)))
