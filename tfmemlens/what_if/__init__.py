"""What does change X buy at batch B, and how sure is that: one engine for every page.

`changes` names the changes; `basis` says what is known of a moment, from most to least: a traced step
(`step`), a timeline or a moment's list (`rows`), nothing. `savings.savings(basis, change)` answers for all of
them; `one_tensor` says what a change takes off one tensor alone.
`case.attach` lets the findings ask, `sliders` the HTML page.
"""
