# Returns an object that raises an error at every access.
# of: prefix-sum
# family: odd results
# verdict: failed error
# says: an? 
class Odd:
    def refuse(self, *args):
        raise SystemExit("do not look")

    __repr__ = __str__ = __eq__ = __bool__ = __index__ = __len__ = __iter__ = __getattr__ = __format__ = __hash__ = refuse


Odd.__name__ = "Odd\x1b[2J\x07"


def prefix_sum(x, reverse=False):
    return Odd()
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
