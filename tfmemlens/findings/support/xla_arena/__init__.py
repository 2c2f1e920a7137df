"""What one compiled program's request may be: what the text shows of it, what it says of the cause, and what
makes it smaller.
"""
