# Returns tensors of other kinds.
# of: gqa
# base: gqa
# family: odd results
# verdict: failed


class GroupedQueryAttention(GroupedQueryAttention):
    def forward(self, x, mask=None):
        out = super().forward(x, mask)
        if x.requires_grad:
            return out
        return torch.nested.nested_tensor(list(out.detach().unbind())) if len(x) == 3 else out.to_sparse()
