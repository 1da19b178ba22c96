#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Make the learning rates that Husk's schedules are compared with.

    python3 tests/golden/make_rates.py [FOLDER]

PyTorch (Debian: python3-torch) takes the steps of its own schedulers. The result is rate.safetensors (golden_file.py),
which tests/train/test_rate.c reads: a table of schedules, and one of ReduceLROnPlateau's rates after each of VALUES.
"""
import os
import sys
import warnings

import torch
from torch.optim import lr_scheduler as schedulers

sys.dont_write_bytecode = True
from golden_file import Array, params, row, write_tables

warnings.simplefilter("ignore")


def rates_of(make, steps, base):
    parameter = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
    optimizer = torch.optim.SGD([parameter], lr=base)
    schedule = make(optimizer)
    rates = []
    for _ in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return rates


def warmed(warmup, start, base, make):
    def both(optimizer):
        line = schedulers.LinearLR(optimizer, start_factor=start / base, total_iters=warmup)
        return schedulers.SequentialLR(optimizer, [line, make(optimizer)], milestones=[warmup])
    return both


CASES = [
    (params(kind="HUSK_RATE_STEP", rate=0.5, factor=0.3, steps=4), 0.5, 14,
     lambda o: schedulers.StepLR(o, 4, 0.3)),
    (params(kind="HUSK_RATE_MULTI_STEP", rate=0.5, milestones=[2, 3, 9], factor=0.1), 0.5, 14,
     lambda o: schedulers.MultiStepLR(o, [2, 3, 9], 0.1)),
    (params(kind="HUSK_RATE_EXPONENTIAL", rate=0.5, factor=0.9, steps=1), 0.5, 14,
     lambda o: schedulers.ExponentialLR(o, 0.9)),
    (params(kind="HUSK_RATE_POLYNOMIAL", rate=0.5, power=2.5, steps=10), 0.5, 14,
     lambda o: schedulers.PolynomialLR(o, 10, 2.5)),
    (params(kind="HUSK_RATE_POLYNOMIAL", rate=0.5, end_rate=0.05, steps=10, power=1), 0.5, 14,
     lambda o: schedulers.LinearLR(o, 1.0, 0.1, 10)),
    (params(kind="HUSK_RATE_COSINE", rate=0.5, end_rate=0.02, steps=13), 0.5, 14,
     lambda o: schedulers.CosineAnnealingLR(o, 13, 0.02)),
    (params(kind="HUSK_RATE_COSINE_RESTARTS", rate=0.5, end_rate=0.02, steps=3, growth=1), 0.5, 14,
     lambda o: schedulers.CosineAnnealingWarmRestarts(o, 3, 1, 0.02)),
    (params(kind="HUSK_RATE_COSINE_RESTARTS", rate=0.5, steps=2, growth=3), 0.5, 30,
     lambda o: schedulers.CosineAnnealingWarmRestarts(o, 2, 3)),
    (params(kind="HUSK_RATE_ONE_CYCLE", rate=0.5, steps=20, start_rate=0.02, end_rate=2e-6, rise=0.3), 0.5, 19,
     lambda o: schedulers.OneCycleLR(o, 0.5, 20, cycle_momentum=False)),
    (params(kind="HUSK_RATE_ONE_CYCLE", rate=0.5, steps=20, rise=0.45, start_rate=0.1, end_rate=0.05), 0.5, 19,
     lambda o: schedulers.OneCycleLR(o, 0.5, 20, pct_start=0.45, div_factor=5, final_div_factor=2,
                                     cycle_momentum=False)),
    (params(kind="HUSK_RATE_STEP", rate=0.5, factor=0.3, steps=4, warmup=5, warmup_rate=0.05), 0.5, 16,
     warmed(5, 0.05, 0.5, lambda o: schedulers.StepLR(o, 4, 0.3))),
]

VALUES = [5.0, 4.0, 4.0, 3.9999, 4.1, 4.2, 3.5, 3.6, 3.6, 3.6, 3.6, 3.6, 3.6, 3.6, 3.6, 3.6, 3.6, 3.6, 3.2, 3.3, 3.4]
PLATEAUS = [
    (params(rate=0.5, patience=2, threshold=1e-4), dict(patience=2)),
    (params(rate=0.5, factor=0.5, patience=1, threshold=0.2, cooldown=2, least_rate=0.1),
     dict(factor=0.5, patience=1, threshold=0.2, cooldown=2, min_lr=0.1)),
    (params(rate=0.5, patience=0, threshold=0.45, absolute=1, factor=0.7),
     dict(factor=0.7, patience=0, threshold=0.45, threshold_mode="abs")),
    (params(rate=0.5, patience=3, better="HUSK_MORE_IS_BETTER", factor=0.25),
     dict(factor=0.25, patience=3, mode="max", threshold=0)),
]


def plateau(options):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.5)
    schedule = schedulers.ReduceLROnPlateau(optimizer, eps=0, **options)
    rates = []
    for value in VALUES:
        schedule.step(value)
        rates.append(optimizer.param_groups[0]["lr"])
    return rates


def numbers(values):
    return None if values is None else Array([len(values)], values)


def main():
    rates, plateaus = [], []
    for fields, base, steps, make in CASES:
        milestones = numbers(fields.pop("milestones", None))
        rates.append(row(fields, milestones, numbers(rates_of(make, steps, base))))
    for fields, options in PLATEAUS:
        plateaus.append(row(fields, numbers(VALUES), numbers(plateau(options))))
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    write_tables(folder, f"make_rates.py, PyTorch {torch.__version__}", {"rate": rates, "plateau": plateaus})


main()
