"""What URDF and MJCF have in common: joints and links of a file as records, the part that is chosen, and its robot."""
