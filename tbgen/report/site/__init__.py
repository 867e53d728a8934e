"""Reports as pages, plots and data files."""
