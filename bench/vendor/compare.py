#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compare.py CLBENCH [--rounds N] [--json FILE] [--md FILE] [--suite S | --file F | CASE...] [-d DEVICE]

Husk's OpenCL results next to the vendor's own libraries (cuBLAS, cuBLASLt, cuDNN; rocBLAS, MIOpen), as PyTorch reaches
them on the same GPU. Rounds alternate: clbench measures all cases, then PyTorch does; nothing runs beside them. PyTorch
is taken at its best: every way that it has of a case (library, layout, backend) is checked against f64 and tried for a
moment, called back to back and as a CUDA graph of such calls; those within 1.15 times of the fastest take part in all
rounds, and the fastest counts. Ratios are the vendor's time over Husk's: 2.00 means that Husk needs half of it. What
PyTorch cannot do is `none`, with the reason. Needs PyTorch that sees a GPU; docs/baselines.md has the rest.
"""
import argparse
import contextlib
import gc
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

try:
    import torch
except ImportError:
    sys.exit("PyTorch is not here: https://pytorch.org has a build for this GPU")
import cases
from job import Absent, Case, error_of

NEAR = 1.15  # of the fastest: takes part in all rounds
MOST = 3  # runners a case that do
GRAPH = 20  # calls a graph
LONG = 2e-3  # seconds; a call that takes longer gains nothing from a graph
TRIED = 0.03  # seconds, to choose


# ---- timing ----

class Gpu:
    """Times on the GPU, by events around back-to-back calls on a stream of its own."""

    def __init__(self, index):
        self.device = f"cuda:{index}"
        torch.cuda.set_device(index)
        self.stream = torch.cuda.Stream()
        self.start, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def context(self):
        return torch.cuda.stream(self.stream)

    def batch(self, call, count):
        """Seconds for so many calls."""
        self.start.record(self.stream)
        for _ in range(count):
            call()
        self.end.record(self.stream)
        self.end.synchronize()
        return self.start.elapsed_time(self.end) * 1e-3

    def graph(self, call):
        """One call that does GRAPH of them, and what the last of these returns."""
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=self.stream):
            for _ in range(GRAPH):
                result = call()
        graph.replay()
        torch.cuda.synchronize()
        return graph, result

    def clean(self):
        gc.collect()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()


class Cpu:
    """For trying this program where there is no GPU; its times are no claim."""

    device = "cpu"

    def context(self):
        return contextlib.nullcontext()

    def batch(self, call, count):
        start = time.perf_counter()
        for _ in range(count):
            call()
        return time.perf_counter() - start

    def clean(self):
        gc.collect()


def sample(clock, call, seconds, calls=1):
    """Nanoseconds a call, of several batches that take so long together; calls: that one call stands for."""
    passed, once = 0.0, 1.0
    while passed < max(seconds / 2, 0.02):  # warm up, and see how long it takes
        once = clock.batch(call, 1)
        passed += once
        if once < 1e-3:
            once = clock.batch(call, 10) / 10
            passed += once * 10
    count = max(1, min(100000, int(min(5e-3, seconds / 5) / max(once, 1e-7))))
    found, passed = [], 0.0
    while len(found) < 3 or (passed < seconds or len(found) < 10) and passed < 10 * seconds:
        took = clock.batch(call, count)
        passed += took
        found.append(took * 1e9 / count / calls)
    return found


@contextlib.contextmanager
def settings(job, chosen):
    """What PyTorch keeps in global variables, as a way wants it."""
    torch.backends.cuda.matmul.allow_tf32 = job.case.tf32
    torch.backends.cudnn.allow_tf32 = job.case.tf32
    torch.backends.cudnn.benchmark = True
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        if torch.cuda.is_available() and hasattr(torch.backends.cuda, "preferred_blas_library"):
            torch.backends.cuda.preferred_blas_library(chosen.get("blas", "default"))
        if "attention" in chosen:
            from torch.nn.attention import SDPBackend, sdpa_kernel
            names = {"flash": "FLASH_ATTENTION", "efficient": "EFFICIENT_ATTENTION", "cudnn": "CUDNN_ATTENTION",
                     "math": "MATH"}
            stack.enter_context(sdpa_kernel([getattr(SDPBackend, names[chosen["attention"]])]))
        yield


def short(error):
    """The first line of what PyTorch says."""
    text = str(error).strip().splitlines()
    return (text[0] if text else type(error).__name__)[:160]


def modes(clock, call):
    """Back to back and, on a GPU, as a graph: (name, call, calls, result or None), the second made when asked for."""
    yield "calls", call, 1, None
    if isinstance(clock, Gpu):
        graph, result = clock.graph(call)
        yield "graph", graph.replay, GRAPH, result


def try_ways(clock, job):
    """What each way takes, in ns by name, or why it does not count. The reference is made once."""
    expected = None
    try:
        with settings(job, {}):
            expected = job.expected() if job.expected else None
    except Exception as problem:  # out of memory: f64 takes more than the case itself
        job.notes.append(f"not compared with f64: {short(problem)}")
    tried, failed, errors = {}, {}, []
    for name, prepare, chosen in job.ways:
        full = name
        try:
            with settings(job, chosen):
                call = prepare()
                for mode, timed, calls, result in modes(clock, call):
                    full = f"{name}, {mode}"
                    known = expected if mode == "calls" or not job.updates else None
                    error = error_of(job, call() if result is None else result, known)
                    if error is not None and not error <= job.bound:
                        failed[full] = f"wrong: error {error:.2g}, at most {job.bound:.2g}"
                        break
                    errors += [] if error is None else [error]
                    tried[full] = statistics.median(sample(clock, timed, TRIED, calls))
                    if tried[full] > LONG * 1e9:
                        break
        except KeyboardInterrupt:
            raise
        except Exception as problem:  # one way that fails is no reason to leave out the others
            failed[full if full != f"{name}, calls" else full + " and graph"] = short(problem)
        call = timed = result = None
    return tried, failed, max(errors) if errors else None


def measure(clock, row, seconds):
    """One round of a case: its runners' samples are appended; in the first round they are chosen."""
    case = Case(row["case"])
    vendor = row["vendor"]
    job = cases.build(case, clock.device)
    if "samples" not in vendor:
        vendor["notes"] = job.notes
        tried, vendor["failed"], vendor["error"] = try_ways(clock, job)
        vendor["tried_ns"], vendor["bound"] = tried, job.bound
        if not tried:
            raise Absent("; ".join(f"{way}: {why}" for way, why in vendor["failed"].items()))
        near = sorted((way for way in tried if tried[way] <= NEAR * min(tried.values())), key=tried.get)
        vendor["samples"] = {way: [] for way in near[:MOST]}
    for name, prepare, chosen in job.ways:
        if not any(way.startswith(name + ", ") for way in vendor["samples"]):
            continue
        with settings(job, chosen):
            call = prepare()
            sample(clock, call, TRIED)
            for mode, timed, calls, _ in modes(clock, call):
                if f"{name}, {mode}" in vendor["samples"]:
                    vendor["samples"][f"{name}, {mode}"].append(sample(clock, timed, seconds, calls))
                if f"{name}, graph" not in vendor["samples"]:
                    break


# ---- rounds ----

class Late(Exception):
    """--max-seconds is over."""


def left(options):
    """Seconds; raises Late when there are none."""
    if options.deadline is None:
        return None
    if time.monotonic() >= options.deadline:
        raise Late
    return options.deadline - time.monotonic()


def selection(options):
    """What names the cases to clbench."""
    if options.file:
        return ["--file", options.file]
    return ["--suite", options.suite] if options.suite or not options.cases else options.cases


def list_cases(options):
    if not options.cases and not options.file and not options.suite:
        options.suite = "standard"
    command = [options.clbench, "list"] + selection(options)
    answer = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if answer.returncode:
        sys.exit(2)
    return list(dict.fromkeys(line.rsplit(" * ", 1)[0].strip() for line in answer.stdout.splitlines() if line.strip()))


def run_clbench(options, folder, rows, rounds_left):
    """One round of clbench; returns its document, of what it measured in time."""
    file, result = os.path.join(folder, "cases.txt"), os.path.join(folder, "husk.json")
    with open(file, "w", encoding="utf-8") as f:
        f.writelines(row["case"] + "\n" for row in rows)
    with contextlib.suppress(FileNotFoundError):
        os.remove(result)
    command = [options.clbench, "run", "--file", file, "--json", result, "--baseline", "none", "--no-history",
               "--no-startup", "--quiet"] + ["--quick"] * options.quick
    if options.opencl:
        command += ["-d", options.opencl]
    time_left = left(options)
    if time_left:  # half is PyTorch's; what is compiled comes beside the budget
        command += ["--budget", f"{max(1, int(time_left / rounds_left / 2))}s"]
        time_left *= 0.7
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            process.wait(time_left)
        except (subprocess.TimeoutExpired, KeyboardInterrupt) as problem:
            process.send_signal(signal.SIGINT)  # it keeps what it has measured
            process.wait()
            if isinstance(problem, KeyboardInterrupt):
                options.interrupted = True
    try:
        with open(result, encoding="utf-8") as f:
            return json.load(f)
    except (OSError, ValueError):
        return None


def keep_husk(rows, document):
    by_case = {r["case"]: r for r in document["results"]} if document else {}
    for row in rows:
        found, husk = by_case.get(row["case"]), row["husk"]
        if not found:
            continue
        husk["state"], husk["reason"] = found["state"], found["reason"]
        husk["variant"] = f"{found['variant']}:{found['configuration']}" if found["configuration"] else found["variant"]
        if found["state"] == "ok":
            husk["samples"].append(found["time"]["samples_ns"])


def rounds(options, clock, rows, about):
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.rounds):
            say(f"round {number + 1} of {options.rounds}: clbench")
            document = run_clbench(options, folder, rows, options.rounds - number)
            if document:
                about["clbench"] = document["husk_version"]
                about["opencl"] = {k: document["device"].get(k) for k in ("platform", "name", "driver", "version")}
            keep_husk(rows, document)
            if options.interrupted:
                raise KeyboardInterrupt
            if number == 0 and not any(row["husk"]["state"] for row in rows):
                left(options)
                sys.exit("clbench measured nothing; the lines above say why")
            for place, row in enumerate(rows):
                left(options)
                if row["vendor"]["state"] not in ("", "ok"):
                    continue
                say(f"round {number + 1} of {options.rounds}: PyTorch, {place + 1} of {len(rows)}: {row['case']}")
                vendor_round(clock, row, options.seconds)


def vendor_round(clock, row, seconds):
    vendor = row["vendor"]
    try:
        with clock.context():
            measure(clock, row, seconds)
        vendor["state"] = "ok"
    except Absent as reason:
        vendor["state"], vendor["reason"] = "none", str(reason)
    except KeyboardInterrupt:
        raise
    except Exception as problem:  # out of memory, say: the rest goes on
        vendor["state"], vendor["reason"] = "error", short(problem)
    with contextlib.suppress(RuntimeError):
        clock.clean()


def say(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text[:110]}", end="", file=sys.stderr, flush=True)


# ---- results ----

def conclude(row):
    """Medians, the vendor's fastest way, and the ratio: the median of the rounds' ratios."""
    husk, vendor = row["husk"], row["vendor"]
    ours = [statistics.median(s) for s in husk["samples"]] if husk["state"] == "ok" else []
    theirs = {way: [statistics.median(s) for s in found] for way, found in vendor.get("samples", {}).items() if found}
    husk["median_ns"] = statistics.median(ours) if ours else None
    vendor["median_ns"], vendor["way"], row["ratio"] = None, None, None
    if theirs and vendor["state"] == "ok":
        vendor["way"] = min(theirs, key=lambda way: statistics.median(theirs[way]))
        vendor["median_ns"] = statistics.median(theirs[vendor["way"]])
    if ours and vendor["way"]:
        row["ratio"] = statistics.median(v / h for v, h in zip(theirs[vendor["way"]], ours))


def means(rows):
    by_op = {}
    for row in rows:
        if row["ratio"]:
            by_op.setdefault(row["case"].split()[0], []).append(math.log(row["ratio"]))
    found = {op: (math.exp(statistics.mean(logs)), len(logs)) for op, logs in by_op.items()}
    logs = [value for group in by_op.values() for value in group]
    return found, (math.exp(statistics.mean(logs)), len(logs)) if logs else None


def duration(ns):
    if ns is None:
        return "-"
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}" if ns < 1000 * size else f"{ns / size:.0f} {unit}"
    return f"{ns:.3g} ns"


def cells(row):
    husk, vendor = row["husk"], row["vendor"]
    way = vendor["way"] or (f"{vendor['state']}: {vendor['reason']}" if vendor["state"] else "left out")
    if vendor["way"] and vendor["notes"]:
        way += f" ({'; '.join(vendor['notes'])})"
    time_ = duration(husk["median_ns"]) if husk["median_ns"] else husk["state"] or "left out"
    return [row["case"], husk.get("variant") or "-", time_, way, duration(vendor["median_ns"]),
            f"{row['ratio']:.2f}" if row["ratio"] else "-"]


HEADINGS = ["case", "husk", "husk median", "vendor's way", "vendor median", "x vendor"]


def closing(rows, about):
    """The lines below the table."""
    by_op, overall = means(rows)
    lines = [f"Geometric mean of {op}: {mean:.2f} ({count} case{'s' * (count != 1)})" for op, (mean, count) in
             by_op.items()]
    if overall:
        lines.append(f"Geometric mean of all: {overall[0]:.2f} ({overall[1]} case{'s' * (overall[1] != 1)})")
    else:
        lines.append("Nothing was compared.")
    for row in rows:
        if row["husk"]["state"] not in ("", "ok"):
            lines.append(f"husk: {row['case']}: {row['husk']['state']}: {row['husk']['reason']}")
    wrong = [f"{row['case']}: {way}: {why}" for row in rows for way, why in row["vendor"].get("failed", {}).items()
             if why.startswith("wrong")]
    lines += [f"vendor, not counted: {text}" for text in wrong]
    return lines + about["remarks"]


def heading(about):
    opencl, gpu = about.get("opencl", {}), about["gpu"]
    return (f"{opencl.get('name', 'no OpenCL device')} ({opencl.get('platform')}, driver {opencl.get('driver')}), Husk "
            f"{about.get('clbench')}; {gpu}: PyTorch {about['torch']}, {about['libraries']}")


def print_plain(rows, about):
    print(heading(about))
    table = [HEADINGS] + [cells(row) for row in rows]
    widths = [max(len(line[i]) for line in table) for i in range(len(HEADINGS))]
    widths[3] = min(widths[3], 60)
    for line in table:
        line = line[:3] + [line[3] if len(line[3]) <= 60 else line[3][:59] + "~"] + line[4:]
        print("  ".join(text.rjust(width) if i in (2, 4, 5) else text.ljust(width)
                        for i, (text, width) in enumerate(zip(line, widths))).rstrip())
    print("\n".join(closing(rows, about)))


def write_markdown(file, rows, about):
    def cell(text):
        return text.replace("|", "\\|").replace("\n", " ")
    with open(file, "w", encoding="utf-8") as f:
        f.write(heading(about) + "\n\n| " + " | ".join(HEADINGS) + " |\n|---|---|---:|---|---:|---:|\n")
        for row in rows:
            case, *others = (cell(text) for text in cells(row))
            f.write(f"| `{case}` | " + " | ".join(others) + " |\n")
        f.write("".join(f"\n{line}\n" for line in closing(rows, about)))


def write_json(file, rows, about, options):
    """A case a line."""
    def rounded(lists):
        return [[float(f"{ns:.5g}") for ns in samples] for samples in lists]
    by_op, overall = means(rows)
    head = {"schema": "husk-vendor/1", **about, "rounds": options.rounds, "seconds": options.seconds,
            "quick": options.quick, "graph_calls": GRAPH,
            "geomean": {"by_op": {op: mean for op, (mean, _) in by_op.items()}, "all": overall[0] if overall else None}}
    lines = []
    for row in rows:
        husk, vendor = dict(row["husk"]), dict(row["vendor"])
        husk["samples_ns"] = rounded(husk.pop("samples"))
        vendor["samples_ns"] = {way: rounded(found) for way, found in vendor.pop("samples", {}).items()}
        for key in ("tried_ns", "failed"):
            vendor[key] = vendor.get(key, {})
        vendor["tried_ns"] = {way: float(f"{ns:.4g}") for way, ns in vendor["tried_ns"].items()}
        if "error" in vendor and vendor["error"] is not None:
            vendor["error"] = float(f"{vendor['error']:.2g}")
        lines.append(json.dumps({"case": row["case"], "ratio": row["ratio"], "husk": husk, "vendor": vendor},
                                separators=(",", ":")))
    with open(file, "w", encoding="utf-8") as f:
        f.write(json.dumps(head, indent=1)[:-2] + ',\n "results": [\n' + ",\n".join(lines) + "\n]}\n")


# ---- the program ----

def describe(options):
    about = {"torch": torch.__version__, "device": options.device, "remarks": [],
             "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
             "settings": {"cudnn.benchmark": True, "allow_tf32": "where precision is not highest",
                          "graphs": options.device != "cpu"}}
    if options.device == "cpu":
        about["gpu"], about["libraries"] = "the CPU", "no GPU: these times are no claim"
        return about
    properties = torch.cuda.get_device_properties(options.gpu)
    about["gpu"] = properties.name
    about["memory"] = properties.total_memory
    driver = ""
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], text=True,
                                capture_output=True, timeout=20, check=True).stdout.split("\n")[0].strip()
    about["driver"] = driver or None
    about["cuda"], about["hip"] = torch.version.cuda, torch.version.hip
    about["cudnn"] = torch.backends.cudnn.version()
    kind = f"HIP {torch.version.hip}, MIOpen" if torch.version.hip else f"CUDA {torch.version.cuda}, cuDNN"
    about["libraries"] = f"{kind} {about['cudnn']}" + (f", driver {driver}" if driver else "")
    return about


def dry_run(texts):
    """What would be tried, found out without a device."""
    for text in texts:
        try:
            job = cases.build(Case(text), "meta")
            notes = f" ({'; '.join(job.notes)})" if job.notes else ""
            print(f"{text}: {' | '.join(name for name, _, _ in job.ways)}{notes}")
        except Absent as reason:
            print(f"{text}: none: {reason}")
        except Exception as problem:  # what the first round would report in the row
            print(f"{text}: error: {short(problem)}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     allow_abbrev=False)
    parser.add_argument("clbench", help="the program")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="as clbench takes them; default: the suite standard")
    parser.add_argument("--suite", "-s", metavar="S")
    parser.add_argument("--file", "-f", metavar="F", help="a file with a case a line")
    parser.add_argument("-d", dest="opencl", metavar="DEVICE", help="clbench's device")
    parser.add_argument("--gpu", type=int, default=0, metavar="I", help="PyTorch's; default 0")
    parser.add_argument("--rounds", type=int, default=3, help="default 3")
    parser.add_argument("--seconds", type=float, default=0.1, help="a round of one way; default 0.1")
    parser.add_argument("--quick", action="store_true", help="clbench run --quick")
    parser.add_argument("--max-seconds", type=float, metavar="S", help="no case is begun after that")
    parser.add_argument("--json", metavar="FILE", help="everything, samples included")
    parser.add_argument("--md", metavar="FILE", help="the table, to paste")
    parser.add_argument("--dry-run", "-n", action="store_true", help="list the vendor's ways, measure nothing")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda",
                        help="cpu: try this program without a GPU; its times are no claim")
    options = parser.parse_intermixed_args()
    if bool(options.suite) + bool(options.file) + bool(options.cases) > 1:
        parser.error("a suite, a file or cases, one of them")
    if options.rounds < 1 or options.seconds <= 0:
        parser.error("--rounds and --seconds are above 0")
    return options


def main():
    options = parse()
    warnings.filterwarnings("ignore")
    texts = list_cases(options)
    if options.dry_run:
        dry_run(texts)
        return 0
    if options.device == "cuda" and not torch.cuda.is_available():
        sys.exit("PyTorch sees no GPU (--dry-run and --device cpu do without)")
    options.interrupted = False
    options.deadline = time.monotonic() + options.max_seconds if options.max_seconds else None
    about = describe(options)
    clock = Gpu(options.gpu) if options.device == "cuda" else Cpu()
    rows = [{"case": text, "husk": {"state": "", "reason": None, "samples": []},
             "vendor": {"state": "", "reason": None, "notes": []}} for text in texts]
    status = 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # either way what was measured is kept
    try:
        rounds(options, clock, rows, about)
    except KeyboardInterrupt:
        about["remarks"].append("Interrupted: what was measured until then is here.")
        status = 130
    except Late:
        out = [row["case"] for row in rows if not row["vendor"]["state"]]
        about["remarks"].append(f"--max-seconds {options.max_seconds:g} is over: {len(out)} of {len(rows)} cases are "
                                "left out, and others may have fewer rounds.")
    say("")
    for row in rows:
        conclude(row)
    name = about.get("opencl", {}).get("name") or ""
    if options.device == "cuda" and name and name.lower() not in about["gpu"].lower() and \
            about["gpu"].lower() not in name.lower():
        about["remarks"].append(f"Is {name} the same card as {about['gpu']}? -d and --gpu choose them.")
    print_plain(rows, about)
    if options.json:
        write_json(options.json, rows, about, options)
    if options.md:
        write_markdown(options.md, rows, about)
    return status or (0 if any(row["ratio"] for row in rows) else 1)


if __name__ == "__main__":
    sys.exit(main())
