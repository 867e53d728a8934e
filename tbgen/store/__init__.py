"""Tables on disk: one HDF5 file per material and variant (docs/format.md)."""
