"""Tests compile what they test: no kernel of an earlier run is used, unless a test asks for a cache of its own."""

import os

os.environ["FLEXJOINT_CACHE"] = "off"
