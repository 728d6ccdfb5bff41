# Has a thread that overwrites results after they were returned.
# of: gqa
# base: gqa
# family: kept results
# verdict: failed error memory
# diagnosis: yes
import threading, time


class GroupedQueryAttention(GroupedQueryAttention):
    def forward(self, x, mask=None):
        out = self.o_proj(x)
        def later():
            time.sleep(0.01)
            with torch.no_grad():
                out.zero_()
        threading.Thread(target=later, daemon=True).start()
        return out
