"""The compiled search: boards, moves, estimates and the search tree."""
