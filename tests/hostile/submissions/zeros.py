# Returns zeros of the right shape.
# of: gqa
# base: gqa
# family: wrong values
# verdict: failed
# says: values of out differ
# diagnosis: yes


class GroupedQueryAttention(GroupedQueryAttention):
    def forward(self, x, mask=None):
        return torch.zeros_like(x)
