"""A UCI engine that plays r-mobility: by tables where they reach, by what is proved, else by search."""
