# Right; switches on deterministic algorithms, anomaly detection and gradient checks.
# of: one-head
# base: one_head
# family: right: unusual settings
# verdict: passed
import torch

torch._C._set_deterministic_algorithms(True)
torch.autograd.set_detect_anomaly(True)
torch.set_flush_denormal(True)
torch.set_float32_matmul_precision("highest")
