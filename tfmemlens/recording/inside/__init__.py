"""Inside the user's process, on Python 3.6 to 3.13: plain modules of the standard library that import only
one another, so that a start-up module can load them under a name of their own.

Nothing here may break the user's program: whatever goes wrong is noted in the bundle (`safely.Guard`).
"""
