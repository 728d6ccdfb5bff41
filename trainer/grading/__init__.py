"""Floor 3: the judge: cases, references, checks in order, verdict."""
