"""Find and read packs: challenges, their mistakes, stubs and questions. No torch."""
