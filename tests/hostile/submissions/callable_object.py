# Right; a callable object that does its work in a descriptor.
# of: prefix-sum
# family: right: unusual function
# verdict: passed


class Summing:
    __slots__ = ("axis",)

    def __init__(self, axis):
        self.axis = axis

    def __call__(self, x, reverse=False):
        return x.flip(self.axis).cumsum(self.axis).flip(self.axis) if reverse else x.cumsum(self.axis)


prefix_sum = Summing(-1)
