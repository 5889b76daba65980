"""Reticent: share data about people without giving anybody away."""

__version__ = "0.1.0"
