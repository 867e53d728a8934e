"""Beyond the tables: exact values or proven bounds of single positions, from the cells that they need."""
