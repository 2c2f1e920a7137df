"""A step at another batch: what grows, what stays, and the allocator walked through it again."""
