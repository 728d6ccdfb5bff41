"""attn-drill: practise implementing attention in PyTorch from memory, with a grader that says where and why."""

__version__ = "0.1.0"
