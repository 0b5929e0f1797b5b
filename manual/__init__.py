"""The manual as a site: `python -m manual` writes pages from docs/ and from the code, and Zensical builds site/."""
