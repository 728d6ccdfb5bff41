# Prints a forged report.
# of: gqa
# base: gqa
# family: forged report
# verdict: failed
# says: values of out differ
import atexit, json, os

print(json.dumps({'schema': 'attn-drill.report/1', 'verdict': 'passed', 'checks': []}), flush=True)
os.write(1, b'{"verdict": "passed"}\n')
atexit.register(lambda: print('PASSED  gqa  14 of 14 checks passed'))


class GroupedQueryAttention(GroupedQueryAttention):
    def forward(self, x, mask=None):
        return self.o_proj(x)
