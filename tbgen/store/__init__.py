"""Tables in memory and on disk: one HDF5 file per material (docs/format.md)."""
