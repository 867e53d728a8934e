"""What differs between systems: each module has functions with one meaning everywhere."""
