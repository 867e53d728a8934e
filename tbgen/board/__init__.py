"""Single positions: FENs, validity, mobility, scores, notation; and materials, kinds of men and variants."""
