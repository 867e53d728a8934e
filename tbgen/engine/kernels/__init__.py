"""The compiled search: boards, moves, estimates and the tree."""
