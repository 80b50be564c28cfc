"""A small transformer: the modules behind `helpers.transformer`.

Read it in this order: `configuration`, `forward`, `backward`, `adam`,
`sampling`. Steps that the forward and the backward pass share are in `parts`.
Parameters are a dict of arrays; leading axes are runs, which are models
trained side by side.
"""
