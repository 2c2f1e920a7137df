"""Tests of the what-if engine."""
