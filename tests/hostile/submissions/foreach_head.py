# Loops over heads inside torch operations on lists of tensors.
# of: gqa
# base: gqa
# family: honest: loops
# verdict: failed
# says: there is a loop over batch, heads or positions
# without: the same, it does nothing that a sandbox would see


class GroupedQueryAttention(GroupedQueryAttention):
    def mixed(self, w, v):
        """The products of all heads by lists, with no matmul: one list of [B, L, L, D] each."""
        left = [part.unsqueeze(-1) for part in w.unbind(1)]
        right = [part.unsqueeze(-3) for part in v.unbind(1)]
        return torch.stack(torch._foreach_mul(left, right), dim=1).sum(-2)
