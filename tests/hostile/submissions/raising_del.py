# Right; drops objects whose `__del__` raises an error.
# of: prefix-sum
# family: right: objects that resist
# verdict: passed
class Falling:
    def __del__(self):
        raise SystemExit(1)


def prefix_sum(x, reverse=False):
    Falling()
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
