"""Hostile tables: metadata that was changed at random, in front of writes, table services and reads.

`python -m hostile` runs seeds until a number or a time is reached. Each must end in a result or in an error of
`mortice`: no panic, no crash, no hang, no change outside of the table.
"""
