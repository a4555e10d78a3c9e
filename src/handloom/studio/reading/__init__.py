"""The Read screen: what `handloom.read` finds in a model, as tables, drawings and words.

`analyses.py` has the list, `results.py` makes tables of what they find, `reading_process.py` is the child process that
computes, so that the studio answers meanwhile, and `readers.py` keeps such processes and answers the page.
"""
