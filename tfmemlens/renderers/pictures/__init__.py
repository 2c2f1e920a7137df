"""Pictures drawn by matplotlib: `figure` gives a sheet that is saved as .png, .svg or .pdf. No form: no
text.
"""
