"""Other ways to practise: a hunt for bugs, a quiz, gaps to fill, an interview."""
