"""Between motor and link: friction, springs, damping, rotors, variable stiffness."""
