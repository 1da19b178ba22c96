#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compare.py TRAIN_STEPS [--rounds N] [--seconds S] [--json FILE] [NETWORK...]

Steps of training by Husk and by PyTorch on the same cores: four networks, the same batches, f32, Adam, dropout on.
Rounds alternate, each a second of the one and a second of the other; nothing runs beside them. PyTorch is taken at its
best: eager and traced, with NCHW and channels last where there are convolutions, with all cores and with one, with
OpenMP's threads spinning and sleeping, with OpenBLAS's threads and with none. Each is tried for a moment, those that
come within 1.5 times of the fastest take part in all rounds, and the fastest counts. Needs PyTorch (Debian:
python3-torch). Networks: digits cifar lstm transformer.
"""
import argparse
import itertools
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


# ---- runners ----

class Runner:
    """A process that reads how many steps to make, and answers with nanoseconds and the loss."""

    def __init__(self, name, command, environment):
        self.name = name
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, **environment})
        if not self.process.stdout.readline().startswith("ready"):
            sys.exit(f"{name} has failed")

    def run(self, steps):
        """Seconds a step."""
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if len(answer) != 2:
            sys.exit(f"{self.name} has failed")
        return int(answer[0]) * 1e-9 / steps

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def work(network, threads, channels_last, traced):
    """The process of one of PyTorch's runners."""
    torch.set_num_threads(threads)
    make, data = NETWORKS[network]
    torch.manual_seed(1)
    x, labels = data()
    model = make().train()
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
        x = x.contiguous(memory_format=torch.channels_last)
    parameters = list(model.parameters())
    if traced:
        model = torch.jit.trace(model, x, check_trace=False)
    adam = torch.optim.Adam(parameters, lr=1e-3, foreach=True)
    print("ready", flush=True)
    for line in sys.stdin:
        start = time.perf_counter_ns()
        for _ in range(int(line)):
            adam.zero_grad(set_to_none=True)
            loss = F.cross_entropy(model(x), labels)
            loss.backward()
            adam.step()
        value = loss.item()
        print(time.perf_counter_ns() - start, value, flush=True)


def torch_runners(network, cores):
    layouts = [False, True] if network in ("digits", "cifar") else [False]
    threads = [("", cores, {}),
               (" asleep", cores, {"OMP_WAIT_POLICY": "PASSIVE"}),
               (" BLAS 1", cores, {"OPENBLAS_NUM_THREADS": "1"}),
               (" 1", 1, {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})]
    for channels_last, traced, (name, count, environment) in itertools.product(layouts, [False, True], threads):
        yield Runner("torch" + " channels last" * channels_last + " traced" * traced + name,
                        [sys.executable, __file__, "--worker", network, str(count), str(int(channels_last)),
                         str(int(traced))], environment)


def compare(program, network, cores, rounds, seconds):
    husk = Runner("husk", [program, network], {})
    tried = {}
    for c in torch_runners(network, cores):
        c.run(5)
        tried[c] = min(c.run(max(1, int(seconds / 4 / c.run(5)))) for _ in range(2))
    fastest = min(tried.values())
    for c in [c for c in tried if tried[c] > 1.5 * fastest]:
        c.close()
    runners = [husk] + [c for c in tried if tried[c] <= 1.5 * fastest]
    steps, samples = {}, {c.name: [] for c in runners}
    for c in runners:
        c.run(10)
        steps[c.name] = max(1, int(seconds / c.run(10)))
    for _ in range(rounds):
        for c in runners:
            samples[c.name].append(c.run(steps[c.name]))
    for c in runners:
        c.close()
    medians = {name: statistics.median(times) for name, times in samples.items()}
    rival = min((name for name in medians if name != "husk"), key=medians.get)
    ratio = statistics.median(r / h for r, h in zip(samples[rival], samples["husk"]))
    return {"network": network, "ratio": ratio, "rival": rival, "median_ms": {n: 1e3 * m for n, m in medians.items()},
            "tried_ms": {c.name: 1e3 * t for c, t in tried.items()},
            "samples_ms": {n: [1e3 * t for t in times] for n, times in samples.items()}}


def main():
    if sys.argv[1:2] == ["--worker"]:
        network, *numbers = sys.argv[2:]
        work(network, *map(int, numbers))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("networks", nargs="*")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=1.0, help="a round of one runner; default 1")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_intermixed_args()  # options before networks, too
    unknown = [n for n in options.networks if n not in NETWORKS]
    if unknown:
        parser.error(f"there is no network {unknown[0]}; networks: {' '.join(NETWORKS)}")
    cores = len(os.sched_getaffinity(0))
    os.environ.pop("OPENBLAS_CORETYPE", None)  # its own choice, whatever this environment pins
    print(f"PyTorch {torch.__version__}, {cores} threads; milliseconds a step, medians of {options.rounds} rounds")
    found = []
    for network in options.networks or NETWORKS:
        found.append(compare(options.program, network, cores, options.rounds, options.seconds))
        row = found[-1]
        times = ", ".join(f"{name} {ms:.2f}" for name, ms in row["median_ms"].items())
        print(f"{network}: {row['ratio']:.2f} times {row['rival']} ({times})", flush=True)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"torch": torch.__version__, "threads": cores, "networks": found}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
