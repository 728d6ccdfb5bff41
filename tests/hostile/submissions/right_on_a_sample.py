# Right for the first batch item only.
# of: gqa
# base: gqa
# family: wrong values
# verdict: failed
# says: values of out differ


class GroupedQueryAttention(GroupedQueryAttention):
    def forward(self, x, mask=None):
        out = super().forward(x, mask)
        if len(x) > 1:
            out = torch.cat([out[:1], out[:1].expand_as(out[1:])])
        return out
