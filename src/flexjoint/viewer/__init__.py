"""Robots that move on the screen: animations as self-contained pages."""

from .animation import animate, check_animation_path

__all__ = ["animate", "check_animation_path"]
