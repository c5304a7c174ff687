"""For the tests of those who declare controls: a Redis of their own, a worker in the test, time that passes at once.

``fixtures`` gives all of it to pytest. See docs/testing.md.
"""
