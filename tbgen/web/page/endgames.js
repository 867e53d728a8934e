// Famous endgames to play, those of at most five men.

export const ENDGAMES = [
    ["A bishop more", "8/8/8/4KBk1/8/8/8/8 b - - 0 1", "A draw in chess"],
    ["Bare kings", "8/6k1/8/4K3/8/8/8/8 b - - 0 1", "Not even they are equal"],
    ["Bishop and knight", "8/8/8/4k3/8/8/8/2B1K1N1 w - - 0 1", "The hardest of the simple mates"],
    ["Two knights", "8/8/8/4k3/8/8/8/1N2K1N1 w - - 0 1", "No forced mate"],
    ["Réti, 1921", "7K/8/k1P5/7p/8/8/8/8 w - - 0 1", "A king that seems too late"],
    ["Saavedra, 1895", "8/8/1KP5/3r4/8/8/8/k7 w - - 0 1", "A pawn against a rook"],
    ["Philidor, 1777", "1k6/1r6/2K5/Q7/8/8/8/8 w - - 0 1", "A queen against a rook"],
    ["Rook against bishop", "8/8/8/7R/3K4/6k1/6b1/8 b - - 0 1", "A draw in chess"],
    ["The opposition", "8/8/8/4k3/8/4K3/4P3/8 w - - 0 1", "A draw in chess"],
    ["Lucena", "1K1k4/1P6/8/8/8/8/r7/2R5 w - - 0 1", "The bridge"],
]
