"""Statistics of whole tables: distributions, records, what every endgame gives, mating potential."""
