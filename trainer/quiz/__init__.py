"""Questions of the question bank, drawn and judged."""
