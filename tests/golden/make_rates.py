#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Make the learning rates that Husk's schedules are compared with.

    python3 tests/golden/make_rates.py [FOLDER]

PyTorch (Debian: python3-torch) takes the steps of its own schedulers. The result, golden_rate.inc, is included by
tests/train/test_rate.c: { params, count, rates } for each schedule, and values, rates for ReduceLROnPlateau.
"""
import os
import sys
import warnings

import torch
from torch.optim import lr_scheduler as schedulers

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
    (".kind = HUSK_RATE_STEP, .rate = 0.5, .factor = 0.3, .steps = 4", 0.5, 14,
     lambda o: schedulers.StepLR(o, 4, 0.3)),
    (".kind = HUSK_RATE_MULTI_STEP, .rate = 0.5, .milestones = milestones, .milestone_count = 3, .factor = 0.1", 0.5, 14,
     lambda o: schedulers.MultiStepLR(o, [2, 3, 9], 0.1)),
    (".kind = HUSK_RATE_EXPONENTIAL, .rate = 0.5, .factor = 0.9, .steps = 1", 0.5, 14,
     lambda o: schedulers.ExponentialLR(o, 0.9)),
    (".kind = HUSK_RATE_POLYNOMIAL, .rate = 0.5, .power = 2.5, .steps = 10", 0.5, 14,
     lambda o: schedulers.PolynomialLR(o, 10, 2.5)),
    (".kind = HUSK_RATE_POLYNOMIAL, .rate = 0.5, .end_rate = 0.05, .steps = 10, .power = 1", 0.5, 14,
     lambda o: schedulers.LinearLR(o, 1.0, 0.1, 10)),
    (".kind = HUSK_RATE_COSINE, .rate = 0.5, .end_rate = 0.02, .steps = 13", 0.5, 14,
     lambda o: schedulers.CosineAnnealingLR(o, 13, 0.02)),
    (".kind = HUSK_RATE_COSINE_RESTARTS, .rate = 0.5, .end_rate = 0.02, .steps = 3, .growth = 1", 0.5, 14,
     lambda o: schedulers.CosineAnnealingWarmRestarts(o, 3, 1, 0.02)),
    (".kind = HUSK_RATE_COSINE_RESTARTS, .rate = 0.5, .steps = 2, .growth = 3", 0.5, 30,
     lambda o: schedulers.CosineAnnealingWarmRestarts(o, 2, 3)),
    (".kind = HUSK_RATE_ONE_CYCLE, .rate = 0.5, .steps = 20, .start_rate = 0.02, .end_rate = 2e-6, .rise = 0.3", 0.5, 19,
     lambda o: schedulers.OneCycleLR(o, 0.5, 20, cycle_momentum=False)),
    (".kind = HUSK_RATE_ONE_CYCLE, .rate = 0.5, .steps = 20, .rise = 0.45, .start_rate = 0.1, .end_rate = 0.05", 0.5,
     19, lambda o: schedulers.OneCycleLR(o, 0.5, 20, pct_start=0.45, div_factor=5, final_div_factor=2,
                                         cycle_momentum=False)),
    (".kind = HUSK_RATE_STEP, .rate = 0.5, .factor = 0.3, .steps = 4, .warmup = 5, .warmup_rate = 0.05", 0.5, 16,
     warmed(5, 0.05, 0.5, lambda o: schedulers.StepLR(o, 4, 0.3))),
]

VALUES = [5.0, 4.0, 4.0, 3.9999, 4.1, 4.2, 3.5, 3.6, 3.6, 3.6, 3.6, 3.6, 3.6, 3.6, 3.6, 3.6, 3.6, 3.6, 3.2, 3.3, 3.4]
PLATEAUS = [
    (".rate = 0.5, .patience = 2, .threshold = 1e-4", dict(patience=2)),
    (".rate = 0.5, .factor = 0.5, .patience = 1, .threshold = 0.2, .cooldown = 2, .least_rate = 0.1",
     dict(factor=0.5, patience=1, threshold=0.2, cooldown=2, min_lr=0.1)),
    (".rate = 0.5, .patience = 0, .threshold = 0.45, .absolute = 1, .factor = 0.7",
     dict(factor=0.7, patience=0, threshold=0.45, threshold_mode="abs")),
    (".rate = 0.5, .patience = 3, .better = HUSK_MORE_IS_BETTER, .factor = 0.25",
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
    return "{" + ", ".join(repr(float(v)) for v in values) + "}"


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(folder, "golden_rate.inc"), "w") as file:
        file.write("/* SPDX-License-Identifier: MIT */\n")
        file.write("/* Made by make_rates.py with PyTorch %s. Do not edit. */\n" % torch.__version__)
        file.write("static const uint64_t milestones[] = {2, 3, 9};\n")
        file.write("static const golden_rate golden_rates[] = {\n")
        for params, base, steps, make in CASES:
            rates = rates_of(make, steps, base)
            file.write("{{.size = sizeof(husk_rate_params), %s},\n%d,\n%s},\n" % (params, steps, numbers(rates)))
        file.write("};\nstatic const double golden_values[] = %s;\n" % numbers(VALUES))
        file.write("static const golden_plateau golden_plateaus[] = {\n")
        for params, options in PLATEAUS:
            file.write("{{.size = sizeof(husk_plateau_params), %s},\n%s},\n" % (params, numbers(plateau(options))))
        file.write("};\n")


main()
