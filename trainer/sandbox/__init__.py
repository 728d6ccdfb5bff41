"""Confine a worker: files, network, processes, memory. Check that the confinement holds."""
