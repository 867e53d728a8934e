"""What solving and looking up share: the geometry of moves, frames, pools, and the counting of moves."""
