# SPDX-License-Identifier: MIT
"""Which tests look at a file, cheapest first, and the copy of the tree that they are built from and run in."""
import json
import os
import re
import shutil
import signal
import subprocess
import time

# What of the default tier tells nothing about the library's code: rules of the house, the reference's own tests,
# programs outside of the tree, the count of programs that were built.
NO_JUDGE = re.compile(r"^(structure|ref|consumer|builds|mutation)/")
SMALL_DEVICES = ("narrow", "middle", "index_64", "limits", "pocl", "basic", "narrow_dtypes", "middle_dtypes")


class OutOfTime(Exception):
    pass


class TreeChanged(Exception):
    """The sources are no longer those that the verdicts are kept under."""


# ---- which tests ----

class Map:
    """Which operators a file belongs to, and which tests and cases to an operator."""

    def __init__(self, root):
        self.root = root
        rows = re.findall(r"^husk_add_op\((\w+) ([^)]*)\)", self.read("CMakeLists.txt"), re.M)
        self.op_of = {row: names.split()[0] for _, names in rows for row in names.split()}
        self.family_of = {row: family for family, names in rows for row in names.split()}
        self.cases = self.list("smoke")
        self.includes = {}
        for folder in ("cl", "src/ops"):
            for base, _, names in os.walk(os.path.join(root, folder)):
                for name in names:
                    path = os.path.relpath(os.path.join(base, name), root)
                    if re.search(r"\.(cl|clh|c|h)$", name):
                        self.includes[path] = re.findall(r'#include "([^"]*)"', self.read(path))

        # Other gradients share the files of the operator that they belong to.
        self.with_files = {self.row_of(path) for path in self.includes}

    def read(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            return file.read()

    def list(self, name):
        """What operators' files bench/cases/FAMILY/NAME.txt have under [name]."""
        found, op_files = [], {op: re.sub(f"^{self.family_of[op]}_", "", op) for op in self.op_of.values()}
        for op, stem in op_files.items():
            is_inside = False
            for line in self.read(f"bench/cases/{self.family_of[op]}/{stem}.txt").splitlines():
                if line.startswith("["):
                    is_inside = name in line.strip("[]").split()
                elif is_inside and re.match(r"[a-z]", line):
                    found.append(line)
        return found

    def row_of(self, path):
        """The operator or gradient that a file carries the name of; in a family's folder, without the family's name."""
        folder, name = os.path.split(path)
        family, stem = os.path.basename(folder), os.path.splitext(name)[0]
        if family in self.family_of.values():
            named = {row: "" if row == family else re.sub(f"^{family}_", "", row)
                     for row in self.op_of if self.family_of[row] == family}
        else:
            named = {row: row for row in self.op_of}
        rows = [row for row, begins in named.items() if not begins or stem == begins or stem.startswith(begins + "_")]
        return max(rows, key=len, default=None)

    def rows_of(self, path):
        """Those that the file is a part of, by its name or by who includes it; those with few cases first."""
        own = self.row_of(path)
        if own and not path.startswith(("cl/lib/", "cl/runtime/", "src/runtime/", "src/select/")):
            return [own] + [row for row, op in self.op_of.items() if op == own != row and row not in self.with_files]
        found, waiting = set(), [re.sub(r"^(cl|src)/", "", re.sub(r"\.c$", ".h", path))]
        seen = set(waiting)
        while waiting:
            header = waiting.pop()
            for user, included in self.includes.items():
                name = re.sub(r"^(cl|src)/", "", user)
                if header in included and name not in seen:
                    seen.add(name)
                    waiting.append(name)
                    if user.endswith((".cl", ".c")) and self.row_of(user):
                        found.add(self.row_of(user))
        rows = sorted(found, key=lambda row: (len(self.cases_of(row, self.cases)), row))
        # A file may carry the name of what it is for, and be included by others, too.
        return [row for row in rows if row == own] + [row for row in rows if row != own]

    def cases_of(self, row, lines):
        op = self.op_of[row]
        wanted = row[len(op) + 1:].replace("backward", "bwd")
        found = []
        for line in lines:
            direction = re.search(r" dir=(\w+)", line)
            if line.split()[0] == op and (wanted.startswith(direction.group(1)) if direction else not wanted):
                found.append(line)
        return found

    def simulated(self, row, stem):
        """The simulator's cases of a row, a stage each; first those with the variant that the file is of."""
        found = []
        for mode in ("races", "memory"):
            for line in self.cases_of(row, self.list(mode)):
                variant = re.search(r"--variant (\w+)", line)
                rank = 1 if not variant else 0 if stem.endswith(variant.group(1)) else 2
                found.append((rank, f"oclgrind:{mode}/{line}"))
        return [stage for _, stage in sorted(found, key=lambda pair: pair[0])]


def stages_of(site, map_, tests):
    """(near, far): names of stages, cheapest first: verify/ROW, a test by its CTest name, oclgrind:MODE/CASE. Far are
    those that are asked when everything near has been asked about every mutant."""
    rows = map_.rows_of(site.path)
    stem = os.path.splitext(os.path.basename(site.path))[0]
    stages = []

    def add(*names):
        stages.extend(name for name in names if name not in stages)

    def add_tests(expression):
        add(*sorted((name for name in tests if re.fullmatch(expression, name)), key=lambda name: (len(name), name)))

    rooms = ()
    if site.path.startswith("src/select/"):
        rooms = ("select", "runtime")
    elif site.path.startswith(("src/os/", "src/base/", "src/runtime/", "cl/runtime/")):
        rooms = ("runtime", "select")
    for room in rooms:
        add_tests(rf"{room}/({stem}|{stem.split('_')[0]}.*)")
        add_tests(rf"{room}/.*")
    if rooms:
        add("verify/gemm", "verify/softmax", "verify/copy", "verify/grad_norm")
        add_tests(r"bench/(tune|worker|workspace)|attack/runtime/.*")
    add(*(f"verify/{row}" for row in rows if map_.cases_of(row, map_.cases)))
    for row in rows:
        add_tests(f"ops/{row}")
        if row == map_.op_of[row]:
            add_tests(f"ops/{row}_(?!backward).*")
    # A wrong engine is not used; that it is right is the long tier's to see.
    if re.search("amx|cpu_matrix|fragment|engine", stem):
        add_tests("long/select/engine")
    if site.hint == "races":
        add(*(stage for row in rows[:4] for stage in map_.simulated(row, stem)))
    if site.side == "host":
        add_tests(r"runtime/fault|bench/(every_op|workspace)")
    if site.hint == "faults":
        if len(rows) <= 4: # the sweep of all takes half an hour
            add(*(f"faults/bench/fault_sweep:{row}" for row in rows))
        add_tests(rf"faults/({'|'.join(rooms)})/.*" if rooms else "faults/bench/.*")
        add_tests(r"faults/.*")
    near = len(stages)
    for row in rows:
        add_tests(f"ops/{map_.op_of[row]}")
        add_tests(rf"devices/({'|'.join(SMALL_DEVICES)})/ops/{row}")
        add_tests(f"(dtypes|long)/ops/{row}")
    if site.side == "host":
        add_tests(r"(faults|attack)/.*")
        if rooms:
            add_tests(r"valgrind/(runtime|select)/.*")
    add(*(name for name, test in tests.items() if "default" in test["labels"] and not NO_JUDGE.match(name)))
    return stages[:near], stages[near:]


# ---- the copy ----

def sources(root):
    """Every file of the tree, those that git does not know yet, too."""
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", "-co", "--exclude-standard"], check=True,
                            capture_output=True).stdout.decode()
    return sorted(path for path in set(listed.split("\0")) if path and os.path.isfile(os.path.join(root, path)))


def tree_hash(root):
    """Of all that decides what a mutant's verdict is."""
    return subprocess.run([os.path.join(root, "tests", "tools", "tree_hash.sh"), root], check=True,
                          capture_output=True, text=True).stdout.strip()


class Copy:
    """FOLDER/tree, a copy of the tree with a build of its own, in which at most one fault is planted at a time."""

    def __init__(self, root, folder, deadline, tree):
        self.root, self.folder, self.deadline, self.hash = root, folder, deadline, tree
        self.tree = os.path.join(folder, "tree")
        self.build = os.path.join(self.tree, "build", "release")
        self.work = os.path.join(folder, "work")
        self.child = None
        for name in ("tree", "work", "pocl"):
            os.makedirs(os.path.join(folder, name), exist_ok=True)
        self.synchronise()
        if not os.path.exists(os.path.join(self.build, "build.ninja")):
            code, text, _ = self.run(["cmake", "--preset", "release"], {}, 600, self.tree)
            if code != 0:
                raise SystemExit(text)
        self.expect_tree()
        self.tests = self.read_tests()
        self.map = Map(self.tree)

    def expect_tree(self):
        if tree_hash(self.root) != self.hash:
            raise TreeChanged()

    def synchronise(self):
        """The tree as it is, with no fault: what differs is written, so that it is built again."""
        wanted = sources(self.root)
        for path in wanted:
            self.restore(path)
        kept = set(wanted)
        for folder, folders, names in os.walk(self.tree):
            if folder == self.tree:
                folders[:] = [name for name in folders if name != "build"]
            for name in names:
                if os.path.relpath(os.path.join(folder, name), self.tree) not in kept:
                    os.remove(os.path.join(folder, name))

    def restore(self, path):
        source, target = os.path.join(self.root, path), os.path.join(self.tree, path)
        with open(source, "rb") as file:
            wanted = file.read()
        if os.path.exists(target):
            with open(target, "rb") as file:
                if file.read() == wanted:
                    return
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(source, target)
        shutil.copymode(source, target)

    def plant(self, site):
        """Kernels have a folder of their own, HUSK_KERNEL_DIR, and need no build. The caches are the mutant's own;
        PoCL's begins with what was compiled without a fault (its names are hashes of the source)."""
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(os.path.join(self.work, "user"))
        subprocess.run(["cp", "-al", os.path.join(self.folder, "pocl"), self.work], check=True)
        shutil.copytree(os.path.join(self.tree, "cl"), os.path.join(self.work, "cl"))
        if site:
            with open(os.path.join(self.root, site.path), encoding="utf-8") as file:
                text = site.apply(file.read())
            target = self.work if site.side == "kernel" else self.tree
            with open(os.path.join(target, site.path), "w", encoding="utf-8") as file:
                file.write(text)

    def read_tests(self):
        commands = {} # CTest's list has none for programs that are still to be built
        for folder, _, names in os.walk(self.build):
            if "CTestTestfile.cmake" in names:
                with open(os.path.join(folder, "CTestTestfile.cmake"), encoding="utf-8") as file:
                    for name, words in re.findall(r"^add_test\((\S+) (.*)\)$", file.read(), re.M):
                        commands[re.sub(r"^\[=\[|\]=\]$", "", name)] = re.findall(r'"([^"]*)"', words)
        listed = subprocess.run(["ctest", "--show-only=json-v1"], cwd=self.build, check=True, capture_output=True)
        found = {}
        for test in json.loads(listed.stdout)["tests"]:
            properties = {one["name"]: one["value"] for one in test.get("properties", [])}
            found[test["name"]] = {
                "command": commands.get(test["name"], []), "labels": properties.get("LABELS", []),
                "timeout": properties.get("TIMEOUT", 120),
                "environment": dict(pair.split("=", 1) for pair in properties.get("ENVIRONMENT", []))}
        return found

    def run(self, command, environment, timeout, folder):
        """(status, output, seconds); -1000 where it was ended after `timeout` seconds. Its whole group is ended."""
        left = self.deadline - time.time()
        if left <= 0:
            raise OutOfTime()
        clean = {key: value for key, value in os.environ.items() if not key.startswith("HUSK_")}
        clean.update(environment)
        began = time.time()
        log = os.path.join(self.folder, "output.txt")
        with open(log, "wb") as output:
            self.child = subprocess.Popen(command, cwd=folder, env=clean, stdin=subprocess.DEVNULL, stdout=output,
                                          stderr=subprocess.STDOUT, start_new_session=True)
            try:
                code = self.child.wait(min(timeout, left))
            except subprocess.TimeoutExpired:
                code = -1000
            finally:
                self.end_child()
        if code == -1000 and left < timeout:
            raise OutOfTime()
        with open(log, encoding="utf-8", errors="replace") as output:
            return code, output.read(), time.time() - began

    def end_child(self):
        if self.child:
            try:
                os.killpg(self.child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.child.wait()
            self.child = None

    # ---- stages ----

    def command(self, stage):
        """(command, environment, files to build, timeout) of a stage."""
        common = next(test for name, test in self.tests.items() if name.startswith("ops/"))["environment"]
        clbench = os.path.join(self.build, "clbench")
        kind, _, row = stage.partition("/")
        if kind == "verify" or kind.startswith("oclgrind:"):
            mode = kind.partition(":")[2]
            lines = [row] if mode else self.map.cases_of(row, self.map.cases)
            cases = os.path.join(self.work, "cases.txt")
            with open(cases, "w", encoding="utf-8") as file:
                file.write("".join(line + "\n" for line in lines))
            if not mode:
                return [clbench, "verify", "--file", cases, "--quiet"], dict(common), [clbench], 300
            check = os.path.join(self.tree, "tests/tools/check_oclgrind.sh")
            names = ("liboclgrind_memory.so", "liblist_kernels.so")
            libraries = [os.path.join(self.build, "tests", name) for name in names]
            return [check, clbench] + libraries + [mode, cases], dict(common), [clbench] + libraries, 900
        stage, _, rows = stage.partition(":")
        test = self.tests[stage]
        needed = [word for word in test["command"] if word.startswith(self.build + os.sep)]
        if "/bench/" in "/" + stage or stage.startswith("tools"):
            needed.append(clbench)
        environment = dict(test["environment"])
        if rows:
            environment["HUSK_TEST_ROWS"] = rows
        return test["command"], environment, needed, test["timeout"]

    def build_for(self, needed):
        known = {"clbench"}
        targets = [os.path.relpath(path, self.build) for path in needed]
        targets = [name for name in targets if name in known or re.match(r"(tests|examples|src)/", name)]
        if targets:
            return self.run(["cmake", "--build", ".", "--target"] + targets, {}, 3600, self.build)
        return 0, "", 0.0

    def try_stage(self, stage, limit=None, beyond=False):
        """("built" or "broken", status, output, seconds) with what is planted now, also beyond the test's own limit."""
        command, environment, needed, timeout = self.command(stage)
        code, text, _ = self.build_for(needed)
        if code != 0:
            return "broken", code, text, 0.0
        environment.pop("HUSK_TEST_BUILDS", None)
        environment.pop("LD_PRELOAD", None)
        environment.update(HUSK_CACHE="0", HUSK_KERNEL_DIR=os.path.join(self.work, "cl"),
                           POCL_CACHE_DIR=os.path.join(self.work, "pocl"),
                           XDG_CACHE_HOME=os.path.join(self.work, "user"))
        if stage.startswith(("runtime/", "attack/", "select/")):
            environment.pop("HUSK_CACHE") # these tests are about it
        limit = limit if beyond else min(timeout, limit or timeout)
        code, text, seconds = self.run(command, environment, limit, self.build)
        self.expect_tree() # files are taken from there, one at a time
        return "built", code, text, seconds
