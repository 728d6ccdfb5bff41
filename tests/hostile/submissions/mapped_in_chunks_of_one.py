# Loops over heads by vmap with chunks of one head.
# of: gqa
# base: gqa
# family: honest: loops
# verdict: failed
# says: there is a loop over batch, heads or positions
# without: the same, it does nothing that a sandbox would see


class GroupedQueryAttention(GroupedQueryAttention):
    def mixed(self, w, v):
        return torch.vmap(torch.matmul, in_dims=1, out_dims=1, chunk_size=1)(w, v)
