#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compare.py TRAIN_STEPS [--rounds N] [--seconds S] [--json FILE] [NETWORK...]

Steps of training by Husk and by PyTorch on the same cores: four networks, the same batches, f32, Adam, dropout on.
Rounds alternate, each some steps of the one and as many of the other; nothing runs beside them. PyTorch is taken at
its best: each network eagerly with NCHW and, where it has convolutions, with channels last; traced forms of the same;
the fastest counts. Needs PyTorch (Debian: python3-torch). Networks: digits cifar lstm transformer.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

try:
    import torch
    from torch import nn
except ImportError:
    sys.exit("PyTorch is not here (Debian: python3-torch)")
F = nn.functional


# ---- networks; train_steps.c has the same ----

def block(inputs, filters):
    return nn.Sequential(nn.Conv2d(inputs, filters, 3, padding=1, bias=False), nn.BatchNorm2d(filters), nn.ReLU())


def digits():
    return nn.Sequential(block(1, 48), block(48, 48), nn.MaxPool2d(2), block(48, 96), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(384, 128), nn.ReLU(), nn.Dropout(0.4), nn.Linear(128, 10))


class Mean(nn.Module):
    def forward(self, x):
        return x.mean((2, 3))


def cifar():
    parts, inputs = [], 3
    for filters in (32, 64, 128):
        parts += [block(inputs, filters), block(filters, filters), nn.MaxPool2d(2)]
        inputs = filters
    return nn.Sequential(*parts, Mean(), nn.Dropout(0.1), nn.Linear(128, 10))


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(8000, 128)
        self.lstm = nn.LSTM(128, 128, bidirectional=True)
        self.head = nn.Linear(256, 2)

    def forward(self, ids):
        y, _ = self.lstm(F.dropout(self.words(ids), 0.5))
        return self.head(F.dropout(y.max(0).values, 0.5))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(128), nn.LayerNorm(128)
        self.qkv, self.projection = nn.Linear(128, 384), nn.Linear(128, 128)
        self.up, self.down = nn.Linear(128, 512), nn.Linear(512, 128)
        self.register_buffer("mask", torch.full((64, 64), float("-inf")).triu(1))

    def forward(self, x):
        q, k, v = (t.view(16, 64, 4, 32).transpose(1, 2) for t in self.qkv(self.norm1(x)).chunk(3, 2))
        scores = (q @ k.transpose(2, 3)) * 32 ** -0.5 + self.mask
        seen = (scores.softmax(3) @ v).transpose(1, 2).reshape(16, 64, 128)
        x = x + self.projection(seen)
        return x + F.dropout(self.down(F.gelu(self.up(self.norm2(x)))), 0.1)


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(96, 128)
        self.places = nn.Parameter(torch.randn(64, 128) * 0.1)
        self.layers = nn.Sequential(Layer(), Layer())
        self.norm, self.head = nn.LayerNorm(128), nn.Linear(128, 96)

    def forward(self, ids):
        x = F.dropout(self.words(ids) + self.places, 0.1)
        return self.head(self.norm(self.layers(x))).view(-1, 96)


def images(*shape):
    return torch.rand(*shape) * 2 - 1, torch.randint(0, 10, (shape[0],))


NETWORKS = {
    "digits": (digits, lambda: images(64, 1, 8, 8)),
    "cifar": (cifar, lambda: images(64, 3, 32, 32)),
    "lstm": (Lstm, lambda: (torch.randint(0, 8000, (64, 32)), torch.randint(0, 2, (32,)))),
    "transformer": (Transformer, lambda: (torch.randint(0, 96, (16, 64)), torch.randint(0, 96, (1024,)))),
}


# ---- contenders ----

class Husk:
    def __init__(self, program, network):
        self.name = "husk"
        self.process = subprocess.Popen([program, network], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("ready"):
            sys.exit("train_steps has failed")
        self.loss = None

    def run(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        nanoseconds, self.loss = self.process.stdout.readline().split()
        return int(nanoseconds) * 1e-9 / steps

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Torch:
    def __init__(self, network, channels_last, traced):
        self.name = "torch" + (" channels last" if channels_last else "") + (" traced" if traced else "")
        make, data = NETWORKS[network]
        torch.manual_seed(1)
        self.x, self.labels = data()
        self.model = make().train()
        if channels_last:
            self.model = self.model.to(memory_format=torch.channels_last)
            self.x = self.x.contiguous(memory_format=torch.channels_last)
        parameters = list(self.model.parameters())
        if traced:
            self.model = torch.jit.trace(self.model, self.x, check_trace=False)
        self.adam = torch.optim.Adam(parameters, lr=1e-3, foreach=True)
        self.loss = None

    def run(self, steps):
        start = time.perf_counter()
        for _ in range(steps):
            self.adam.zero_grad(set_to_none=True)
            loss = F.cross_entropy(self.model(self.x), self.labels)
            loss.backward()
            self.adam.step()
        self.loss = loss.item()
        return (time.perf_counter() - start) / steps

    def close(self):
        pass


def compare(program, network, rounds, seconds):
    forms = [(False, False), (False, True)] + ([(True, False), (True, True)] if network in ("digits", "cifar") else [])
    contenders = [Husk(program, network)] + [Torch(network, *form) for form in forms]
    steps, samples = {}, {c.name: [] for c in contenders}
    for c in contenders:
        c.run(10)
        steps[c.name] = max(1, int(seconds / c.run(10)))
    for _ in range(rounds):
        for c in contenders:
            samples[c.name].append(c.run(steps[c.name]))
    for c in contenders:
        c.close()
    medians = {name: statistics.median(times) for name, times in samples.items()}
    rival = min((name for name in medians if name != "husk"), key=medians.get)
    ratio = statistics.median(r / h for r, h in zip(samples[rival], samples["husk"]))
    return {"network": network, "ratio": ratio, "rival": rival, "median_ms": {n: 1e3 * m for n, m in medians.items()},
            "samples_ms": {n: [1e3 * t for t in times] for n, times in samples.items()}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=1.0, help="a round of one contender; default 1")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    unknown = [n for n in options.networks if n not in NETWORKS]
    if unknown:
        parser.error(f"there is no network {unknown[0]}; networks: {' '.join(NETWORKS)}")
    cores = len(os.sched_getaffinity(0))
    torch.set_num_threads(cores)
    print(f"PyTorch {torch.__version__}, {cores} threads; milliseconds a step, medians of {options.rounds} rounds")
    found = []
    for network in options.networks or NETWORKS:
        found.append(compare(options.program, network, options.rounds, options.seconds))
        row = found[-1]
        times = ", ".join(f"{name} {ms:.2f}" for name, ms in row["median_ms"].items())
        print(f"{network}: {row['ratio']:.2f} times {row['rival']} ({times})", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"torch": torch.__version__, "threads": cores, "networks": found}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
