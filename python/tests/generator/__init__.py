"""Random programs of the language, compiled for the host and compared with the reference.

    PYTHONPATH=python:python/tests python -m generator --seed 1 --count 200

A program is a tree of nodes (`tree`); each kind of node has a text and facts about its value (`kinds`): dtype, shape, the largest
magnitude, and how far two correct implementations may differ. `grammar` draws trees, `layouts` arguments, `execution` runs a program,
`shrinking` makes a failing one smaller, `pool` keeps crashes and hangs in worker processes, `coverage` counts what programs use.

`--kind ordered` is the other family (`families`): steps of integer effects in which order matters, as a tree of texts (`ordered`), drawn by
`ordered_grammar`, run by `ordered_execution`, whose values are exact.
"""
