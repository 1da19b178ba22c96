#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mutation.py: plants faults that a seed draws, one at a time, and sees whether some test notices.

    mutation.py --list [--seed N] [--count N]        the draw, and nothing is run
    mutation.py [--seed N] [--count N] [--max-time SECONDS]
    mutation.py --summary [--seed N] [--count N]     what is known by now

Verdicts are added to build/mutation/TREE.jsonl, TREE being a hash of the sources and tests; a run goes on where the
one before was stopped. Exit status: 0 all were killed, 1 some survived, 2 something is wrong, 3 not finished in time.
docs/testing.md says more.
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import rules # noqa: E402
import sites # noqa: E402
import stages # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PATIENCE = 600 # seconds, before a short stage is said to have no end
KERNEL_SHARE = 5 / 8 # of the mutants; the rest are the host's


def exemptions():
    """id -> reason; a line each: id, rule, file, what it changes and why no test could see it, with | between."""
    found = {}
    with open(os.path.join(HERE, "exempt.txt"), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                words = [word.strip() for word in line.split("|")]
                if len(words) != 4 or len(words[3]) < 20:
                    raise SystemExit(f"exempt.txt: not id | rule | file | reason: {line}")
                found[words[0]] = words
    return found


class Book:
    """What is known of this tree: verdicts, stages that a mutant has passed, and what stages do without a mutant."""

    def __init__(self, root, folder):
        self.tree = stages.tree_hash(root)
        self.path = os.path.join(folder, self.tree + ".jsonl")
        git = ["git", "-C", root, "rev-parse", "HEAD^{tree}"]
        self.git_tree = "" # so it stays where git is not installed, and in a copy without its history
        if shutil.which("git"):
            self.git_tree = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
        self.verdicts, self.passed, self.stages, self.spent = {}, {}, {}, {}
        if os.path.exists(self.path):
            with open(self.path, "r+b") as file:
                known = file.read()
                file.truncate(known.rfind(b"\n") + 1) # a run that was ended may have left half a line
            for line in known.split(b"\n")[:-1]:
                self.take(json.loads(line))

    def take(self, entry):
        if "verdict" in entry:
            self.verdicts[entry["id"]] = entry
        elif "passed" in entry:
            self.passed.setdefault(entry["id"], set()).add(entry["passed"])
            self.spent[entry["id"]] = self.spent.get(entry["id"], 0.0) + entry["seconds"]
        else:
            self.stages[entry["stage"]] = entry

    def write(self, **entry):
        self.take(entry)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


class Draw:
    """The mutants in their order, and which of them count: the exempt and the stillborn are replaced by the next."""

    def __init__(self, seed, count, found=None):
        found = found or sites.all_sites(ROOT)
        self.exempt = exemptions()
        self.orders = {side: sites.draw(found, seed, side) for side in (rules.KERNEL, rules.HOST)}
        kernels = round(count * KERNEL_SHARE)
        self.wanted = {rules.KERNEL: kernels, rules.HOST: count - kernels}

    def chosen(self, verdicts):
        """(counted, replaced): as far as the verdicts tell."""
        counted, replaced = [], []
        for side, order in self.orders.items():
            number = 0
            for site in order:
                if number == self.wanted[side]:
                    break
                if site.id in self.exempt or verdicts.get(site.id, {}).get("verdict") == "stillborn":
                    replaced.append(site)
                else:
                    counted.append(site)
                    number += 1
        return counted, replaced


def say(text):
    print(text, flush=True)


def how(code):
    if code == -1000:
        return "no end"
    return f"signal {-code}" if code < 0 else f"exit {code}"


class Run:
    def __init__(self, copy, book, verbose):
        self.copy, self.book, self.verbose = copy, book, verbose
        self.has_run = False

    def is_affordable(self, seconds):
        """Whether a stage fits into what is left; the first of a run is always tried."""
        return not self.has_run or time.time() + 1.5 * seconds + 10 < self.copy.deadline

    def known_stage(self, stage):
        """The stage without a mutant, once a tree, when it first fails with one: what fails then kills nobody."""
        if stage not in self.book.stages:
            if not self.is_affordable(30):
                raise stages.OutOfTime()
            self.copy.synchronise()
            self.copy.plant(None)
            state, code, text, seconds = self.copy.try_stage(stage)
            self.has_run = True
            # What was compiled without a fault serves all that come.
            subprocess.run(["cp", "-aln", os.path.join(self.copy.work, "pocl") + "/.",
                            os.path.join(self.copy.folder, "pocl")], check=False, stderr=subprocess.DEVNULL)
            good = state == "built" and code == 0
            if not good and code != 77:
                say(f"{stage} fails without a mutant ({how(code)}):\n{text[-3000:]}")
            self.book.write(stage=stage, good=good, skipped=code == 77, seconds=round(seconds, 1))
        return self.book.stages[stage]

    def mutant(self, site, far=True):
        """Asks the near stages, and the far ones too if they are wanted: then there is a verdict at the end."""
        passed = self.book.passed.get(site.id, set())
        near, rest = stages.stages_of(site, self.copy.map, self.copy.tests)
        names = [name for name in near + (rest if far else []) if name not in passed]
        if names:
            say(f"{site}")
        for stage in names:
            known = self.book.stages.get(stage, {"good": True, "seconds": 10.0})
            if not known["good"]:
                continue
            if not self.is_affordable(known["seconds"]):
                raise stages.OutOfTime()
            limit = max(60, 10 * known["seconds"]) if stage in self.book.stages else None
            try:
                self.copy.plant(site)
                state, code, text, seconds = self.copy.try_stage(stage, limit)
                if code == -1000 and seconds < PATIENCE and state == "built":
                    # It may have had to compile what the caches have without a mutant.
                    state, code, text, again = self.copy.try_stage(stage, PATIENCE, beyond=True)
                    seconds += again
                elif not stage.startswith(("verify/", "oclgrind:")) and state == "built" and code not in (0, 77):
                    # Of tests there are hundreds, and some go by the clock: one that fails by chance kills nobody.
                    state, code, text, again = self.copy.try_stage(stage)
                    seconds += again
            finally:
                self.copy.restore(site.path)
            self.has_run = True
            is_stillborn = state == "broken" or (site.side == rules.KERNEL and "does not build with" in text)
            if self.verbose:
                say(f"    {stage}: {how(code)}, {seconds:.1f} s")
            if not is_stillborn and (code == 0 or not self.known_stage(stage)["good"]):
                self.book.write(id=site.id, passed=stage, seconds=round(seconds, 1))
                continue
            self.verdict(site, "stillborn" if is_stillborn else "killed", stage, how(code), seconds)
            return
        if far:
            self.verdict(site, "survived", "", "", 0.0)

    def verdict(self, site, verdict, stage, reason, seconds):
        total = self.book.spent.get(site.id, 0.0) + seconds
        self.book.write(id=site.id, verdict=verdict, by=stage, how=reason, seconds=round(total, 1), rule=site.rule,
                        file=site.path, line=site.line, old=site.old, new=site.new, tree=self.book.git_tree,
                        date=time.strftime("%Y-%m-%d %H:%M"))
        say(f"    {verdict}{' by ' + stage if stage else ''}{' (' + reason + ')' if reason else ''}, {total:.0f} s")


def kind_of(stage):
    """The stage's kind in the summary."""
    return stage.partition("/")[0].partition(":")[0] if stage else ""


def summary(draw, book):
    counted, replaced = draw.chosen(book.verdicts)
    verdicts = [book.verdicts.get(site.id, {}).get("verdict", "") for site in counted]
    killed = [site for site, verdict in zip(counted, verdicts) if verdict == "killed"]
    survived = [site for site, verdict in zip(counted, verdicts) if verdict == "survived"]
    by = {}
    for site in killed:
        kind = kind_of(book.verdicts[site.id]["by"])
        by[kind] = by.get(kind, 0) + 1
    for site in survived:
        say(f"survived: {site}")
    broken = [name for name, stage in book.stages.items() if not stage["good"] and not stage["skipped"]]
    if broken:
        say("these fail without a mutant, and were not asked: " + " ".join(broken))
    stillborn = sum(site.id not in draw.exempt for site in replaced)
    kinds = ", ".join(f"{count} by {kind}" for kind, count in sorted(by.items(), key=lambda pair: -pair[1]))
    say(f"{len(killed)} of {len(counted)} killed{f' ({kinds})' if kinds else ''}, {len(survived)} survived, "
        f"{verdicts.count('')} to go; replaced: {stillborn} that did not compile, "
        f"{len(replaced) - stillborn} exempt; tree {book.tree}, {os.path.relpath(book.path, ROOT)}")
    return 2 if broken else 1 if survived else 3 if "" in verdicts else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--max-time", type=float, default=1e9, metavar="SECONDS")
    parser.add_argument("--side", choices=[rules.KERNEL, rules.HOST], default="", help="only faults of this side")
    parser.add_argument("--only", help="only this mutant, by its id (drawn or not)")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="a line for every stage")
    parser.add_argument("--folder", default=os.path.join(ROOT, "build", "mutation"))
    options = parser.parse_args()
    deadline = time.time() + options.max_time
    draw = Draw(options.seed, options.count)
    os.makedirs(options.folder, exist_ok=True)
    book = Book(ROOT, options.folder)
    if options.list:
        counted, replaced = draw.chosen(book.verdicts)
        for site in counted:
            print(site)
        for site in replaced:
            print(f"replaced ({'exempt' if site.id in draw.exempt else 'does not compile'}): {site}")
        return 0
    if options.summary:
        return summary(draw, book)
    copy = None

    def stop(number, frame):
        if copy:
            copy.end_child()
        sys.exit(128 + number)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    try:
        copy = stages.Copy(ROOT, options.folder, deadline, book.tree)
        run = Run(copy, book, options.verbose)
        if options.only:
            run.mutant(next(site for order in draw.orders.values() for site in order if site.id == options.only))
            return 0
        for far in (False, True):
            seen = set()
            while waiting := [site for site in draw.chosen(book.verdicts)[0] if options.side in ("", site.side)
                              and site.id not in seen and site.id not in book.verdicts]:
                seen.add(waiting[0].id) # where it is stillborn, there is another one now
                run.mutant(waiting[0], far)
    except stages.OutOfTime:
        say("time is up; the same command goes on from here")
    except stages.TreeChanged:
        say(f"the tree was changed: what was being asked says nothing of {book.tree}")
        return 2
    return summary(draw, book)


if __name__ == "__main__":
    sys.exit(main())
