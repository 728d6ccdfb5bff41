"""Show reports as terminal text, JSON and HTML. No decisions are made here."""
