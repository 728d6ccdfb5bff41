# Right; leaves a profiler, a tracer and a thread hook active.
# of: prefix-sum
# family: right: unusual settings
# verdict: passed
import sys, threading

calls = []
sys.setprofile(lambda frame, event, argument: calls.append(event))
sys.settrace(lambda frame, event, argument: None)
threading.setprofile(lambda frame, event, argument: calls.append(event))
sys.unraisablehook = sys.excepthook = lambda *args: None


def prefix_sum(x, reverse=False):
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
