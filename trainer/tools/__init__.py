"""Tools about attention that grade nothing: costs of its variants, facts about heads."""
