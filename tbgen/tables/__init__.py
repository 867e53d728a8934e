"""Tables on disk, plain and packed: opening, look-ups, reading, packing, unpacking, copies and inventory."""
