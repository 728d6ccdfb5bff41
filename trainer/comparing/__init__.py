"""Floor 2: compare an actual tensor with the expected one."""
