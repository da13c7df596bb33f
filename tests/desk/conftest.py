"""What the tests of the desk share."""

from tests.desk.walk import kept_walk, walked

__all__ = ["kept_walk", "walked"]
