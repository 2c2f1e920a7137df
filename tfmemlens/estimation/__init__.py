"""What will it need? From a measured step, a training graph or a model to the memory of a step that never
ran.
"""
