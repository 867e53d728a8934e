"""The packed form of a table: one side to move stored, in a few bits a position, the other side derived."""
