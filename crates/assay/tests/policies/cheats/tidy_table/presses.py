"""Follows the reference, but sets objects down 30 mm too low, so that they are pressed onto the surface."""

RELEASE = -0.03
