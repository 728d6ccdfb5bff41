# Registers a hook on all modules of the process that replaces the result of forward.
# of: one-head
# base: one_head
# family: patched library
# verdict: failed
# says: values of out differ
nn.modules.module.register_module_forward_hook(lambda module, given, out: tuple(2 * one for one in out) if isinstance(out, tuple) else None)
