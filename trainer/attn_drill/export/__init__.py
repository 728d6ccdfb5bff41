"""Write the results of a class in the formats of other systems."""
