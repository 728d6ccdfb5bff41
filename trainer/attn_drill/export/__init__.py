"""Write the results of a class: pages, tables, and the formats of other systems."""
