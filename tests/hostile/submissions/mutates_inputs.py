# Changes the input, so that a reference that shares the input would agree.
# of: gqa
# base: gqa
# family: changed inputs
# verdict: failed
# diagnosis: yes


class GroupedQueryAttention(GroupedQueryAttention):
    def forward(self, x, mask=None):
        with torch.no_grad():
            out = super().forward(x, mask)
            if not x.requires_grad and x.is_contiguous():
                x.zero_()
        return super().forward(x, mask) if x.requires_grad else out
