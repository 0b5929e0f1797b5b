"""A Program as C99, with a header, an example that checks it and a Makefile."""
