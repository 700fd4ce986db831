"""Whole numbers that a caller gives."""

import operator


def count(value, name, least=0, most=2**64 - 1):
    """value as an int. TypeError where it is no whole number, ValueError where it is not in [least, most]."""
    value = operator.index(value)
    if not least <= value <= most:
        raise ValueError(f"{name} is {value}: give {least} to {most}")
    return value


def seed(value):
    """A seed as an int of 0 to 2^64 - 1."""
    return count(value, "seed")
