"""Conformance suite for per-sample gradients: models by losses by batches, for any library.

A model and a loss give the losses of a batch, (B,). Row i is the gradient of ``losses[i]`` with
respect to the parameters, without a factor 1/B, whatever else ``losses[i]`` depends on. Where
samples do not mix, that is the gradient of sample i alone, and the oracle runs one backward pass
on each sample alone. Where they mix, in the model or in the loss, the oracle runs one backward
pass from each ``losses[i]`` on the whole batch. A library may return these numbers, or refuse;
any other number is wrong.
"""
