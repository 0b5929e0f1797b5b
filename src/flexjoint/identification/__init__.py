"""Identification of drivetrains and links from logs: stiffness, damping, motor inertia, friction, with deviations."""

from .excitation import ExcitingMotion as ExcitingMotion, exciting_motion as exciting_motion
