# Creates a layer during the import and calls it later.
# of: gqa
# base: gqa
# family: honest: attention layers
# verdict: not-allowed
# says: nn.MultiheadAttention is called
layer = nn.MultiheadAttention(48, 4, batch_first=True)
assert layer(*[torch.ones(1, 2, 48)] * 3)[0].shape == (1, 2, 48)


class GroupedQueryAttention(GroupedQueryAttention):
    def forward(self, x, mask=None):
        return self.o_proj(layer(x, x, x)[0])
