"""One Hypothesis profile for all property tests: the same examples every time, and no time limit on one of them."""

from hypothesis import settings

settings.register_profile("handloom", deadline=None, derandomize=True, max_examples=100)
settings.load_profile("handloom")
