"""Tools that grade nothing: the costs of attention variants, and facts about attention heads."""
