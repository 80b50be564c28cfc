"""A small transformer: what `helpers.transformer` is made of.

Read it in this order: `configuration`, `forward`, `backward`, `adam`,
`sampling`. What the forward and the backward pass share is in `parts`.
Parameters are a dict of arrays; leading axes are runs, models trained side by
side.
"""
