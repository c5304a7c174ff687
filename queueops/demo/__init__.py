"""The bookshop: a small application with real work, and the example to copy from.

``store`` is its database, ``jobs`` what its workers do, ``courier`` the outside world that is sometimes slow,
``plan`` what happens when, ``producer`` the process that makes it happen (``manage.py queueops demo``).
"""
