# Runs torch's profiler around the projections, as somebody does who looks for slow lines.
# of: gqa
# base: gqa
# family: right: unusual settings
# verdict: passed
from torch.profiler import profile, record_function, ProfilerActivity


class GroupedQueryAttention(GroupedQueryAttention):
    def forward(self, x, mask=None):
        with record_function("gqa"):
            pass
        out = super().forward(x, mask)
        if not hasattr(self, "profiled"):
            with profile(activities=[ProfilerActivity.CPU]) as prof:
                self.q_proj(x)
            self.profiled = prof.key_averages().table(row_limit=3)
        return out
