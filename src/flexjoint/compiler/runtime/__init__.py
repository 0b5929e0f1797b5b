"""Compiled Programs that are called with arrays: kernels, the call path in C, the cache on disk."""
