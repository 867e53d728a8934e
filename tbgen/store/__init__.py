"""The files of tables: schema, facts, checksums, chunks and writing, in HDF5 (docs/format.md)."""
