"""Reads of the numbers that the doors write. Every answer is a frozen dataclass; nothing here changes Redis.

Times are µs since the epoch by Redis TIME unless a name says seconds; ages and durations are seconds.
"""
