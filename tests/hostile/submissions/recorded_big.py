# Wrong; its results are too large to keep dozens of them.
# of: gqa
# base: gqa
# family: misled diagnosis
# verdict: failed
# says: values of out differ
# diagnosis: yes
# without: the same, it misbehaves only where its lines are recorded


class GroupedQueryAttention(GroupedQueryAttention):
    def forward(self, x, mask=None):
        for _ in range(20):
            big = torch.ones(250_000) * x.sum()
        return self.o_proj(x) + big[0] * 0
