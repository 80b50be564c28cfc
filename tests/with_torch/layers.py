"""Layers of published code with random weights, and what is read from them."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", minversion="2.4")


def filled(layer):
    """A layer in float64 whose parameters are all random."""
    layer = layer.double().eval()
    with torch.no_grad():
        for x in layer.parameters():
            x.normal_()
    return layer


def scaled(layer):
    """The same with matrices that keep the sizes of rows; gains near 1."""
    layer = layer.double().eval()
    with torch.no_grad():
        for x in layer.parameters():
            if x.ndim > 1:
                x.normal_(0, x[0].numel() ** -0.5)
            else:
                x.normal_(1, 0.3)
    return layer


def array(tensor):
    return tensor.detach().numpy()


def close(result, expected, tolerance=1e-12):
    np.testing.assert_allclose(
        result, array(expected), rtol=tolerance, atol=tolerance
    )


def weight(layer):
    """Its matrix, of which rows are positions here."""
    return array(layer.weight).T


def project(X, layer):
    bias = 0 if layer.bias is None else array(layer.bias)
    return X @ weight(layer) + bias


def additive(mask):
    """0 where the mask is True and minus infinity elsewhere."""
    low = torch.full(mask.shape, -torch.inf, dtype=torch.float64)
    return low.masked_fill(torch.tensor(mask), 0.0)[None, None]
