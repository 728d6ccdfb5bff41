"""Find and read packs: challenges, known mistakes, stubs and questions. Needs no torch."""
