"""One file a module of `trainer/`, one parametrised file for all content, hostile submissions, benchmarks."""
