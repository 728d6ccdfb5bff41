# Right; registers callbacks on its results that raise errors when a result is deleted.
# of: prefix-sum
# family: right: objects that resist
# verdict: passed
import weakref

kept = []


def prefix_sum(x, reverse=False):
    out = x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
    kept.append(weakref.ref(out, lambda gone: 1 / 0))
    weakref.finalize(out, exec, "raise SystemExit(3)")
    return out
