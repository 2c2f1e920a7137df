"""What does change X buy at batch B, and how sure is that: one engine for every page."""
