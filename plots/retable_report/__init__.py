"""Figures and one page from a folder of results. The folder is all that is read (see plots/README.md)."""
