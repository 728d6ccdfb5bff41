"""Confine a worker (files, network, processes, memory) and find out if the confinement holds."""
