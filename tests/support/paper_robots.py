"""The built-in robots of the papers: what compiles or counts for many robots takes these, so that it stays quick."""

PAPER_ROBOTS = ("dlr_lbr2", "dlr_lwr3", "hua_3r", "kuka_lwr", "vsa_3r")
