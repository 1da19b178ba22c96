#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tool that plants faults, looked at itself: rules, draw, exemptions and verdicts. No OpenCL, no compiler."""
import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import mutation # noqa: E402
import rules # noqa: E402
import sites # noqa: E402
import stages # noqa: E402

FAILURES = []

KERNEL = """// for (int i = 0; i < n; ++i) is a comment's
__kernel void husk_fixture(const __global float *x, __global float *y, long n, long x_stride, long y_stride, int pad)
{
    __local float parts[64];
    float sum = 0.0f;
    for (long i = get_local_id(0); i < n; i += 64)
        sum += x[i * x_stride];
    if (pad > 0)
        sum = max(sum, x[n - pad]);
    parts[get_local_id(0)] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    y[n % 64 * y_stride] = parts[n - 1];
}
"""
HOST = """static double cost_fixture(int n)
{
    return n > 1 && n < 7 ? n + 1 : 0;
}

static uint64_t workspace_fixture(int n)
{
    return 4 * n;
}

static husk_status run_fixture(husk_queue *queue, const int64_t *shape)
{
    husk_status status = begin(queue, "x[0] && y");
    if (status != HUSK_OK)
        return status;
    if (shape[0] < 0 || count > LARGEST)
        return husk__reject(scope, "n", "has %d, less than %d", shape[0] - 1, (int)husk__min_i64(1, 2));
    for (int i = 0; i < rank; ++i)
        husk__key_i64(key, strides[i]);
    clWaitForEvents(1, &event);
    husk_buffer_release(buffer);
    for (int i = 0; i < rows; ++i)
        total += husk__max_i64(columns, 4) + own->pad[i];
    return HUSK__LAUNCH(queue, kernel, &range, scope, HUSK__ARG_I64(rows), HUSK__ARG_I64(count),
                        HUSK__ARG_BUFFER(scratch->buffer, first, 4));
}
"""

# rule: what its faults make of the fixture, each the changed line
EXPECTED = {
    "loop_bound": ["for (long i = get_local_id(0); i <= n; i += 64)"],
    "wrong_start": ["float sum = 1.0f;"],
    "wrong_axis": ["for (long i = get_local_id(1); i < n; i += 64)", "parts[get_local_id(1)] = sum;"],
    "subtracts": ["sum -= x[i * x_stride];"],
    "forgets_sum": ["sum = x[i * x_stride];"],
    "wrong_index": ["sum += x[(i * x_stride) + 1];", "sum = max(sum, x[(n - pad) + 1]);",
                    "parts[(get_local_id(0)) + 1] = sum;", "y[(n % 64 * y_stride) + 1] = parts[n - 1];",
                    "y[n % 64 * y_stride] = parts[(n - 1) + 1];"],
    "swapped_stride": ["sum += x[i * y_stride];", "y[n % 64 * x_stride] = parts[n - 1];"],
    "guard": ["if (pad >= 0)"],
    "min_for_max": ["sum = min(sum, x[n - pad]);"],
    "pad_off_by_one": ["sum = max(sum, x[n - (pad + 1)]);"],
    "dropped_barrier": [";"],
    "wrong_remainder": ["y[n / 64 * y_stride] = parts[n - 1];"],
    "lost_one": ["y[n % 64 * y_stride] = parts[n];"],
    "wrong_sign": [],
    "dropped_fill": [],
    "host_dropped_fill": [],
    "short_workspace": ["return (4 * n) / 2;"],
    "swallowed_status": ["return HUSK_OK;"],
    "unchecked": ["if (false || count > LARGEST)", "if (shape[0] < 0 || false)"],
    "unverified_cache": [],
    "host_guard": ["if (shape[0] <= 0 || count > LARGEST)", "if (shape[0] < 0 || count >= LARGEST)"],
    "wrong_dimension": ["if (shape[1] < 0 || count > LARGEST)"],
    "host_loop_bound": ["for (int i = 0; i <= rank; ++i)", "for (int i = 0; i <= rows; ++i)"],
    "forgotten_key": [";"],
    "missing_wait": [],
    "kept_reference": [";"],
    "host_swapped_stride": ["for (int i = 0; i < columns; ++i)", "total += husk__max_i64(rows, 4) + own->pad[i];"],
    "host_min_for_max": ["total += husk__min_i64(columns, 4) + own->pad[i];"],
    "host_off_by_one": ["total += husk__max_i64(columns, 4) + (own->pad[i] + 1);"],
    "swapped_arguments": [
        "return HUSK__LAUNCH(queue, kernel, &range, scope, HUSK__ARG_I64(count), HUSK__ARG_I64(rows),"],
    "scratch_offset": ["HUSK__ARG_BUFFER(scratch->buffer, 0, 4));"],
}


def check(what, good, said=""):
    if not good:
        FAILURES.append(what)
        print(f"{what}: {said}" if said else what)


def check_fixture(path, text):
    found = sites.sites_of(path, text)
    side = rules.KERNEL if path.startswith("cl/") else rules.HOST
    for rule in rules.RULES:
        own = [site for site in found if site.rule == rule.name]
        if rule.side == side and not (rule.name == "host_swapped_stride" and own):
            check(f"{rule.name} on the fixture", [site.new for site in own] == EXPECTED[rule.name],
                  [site.new for site in own])
        elif rule.name == "host_swapped_stride" and side == rules.HOST:
            check(f"{rule.name} on the fixture", set(EXPECTED[rule.name]) <= {site.new for site in own},
                  [site.new for site in own])
    for site in found:
        mutant = site.apply(text)
        changed = [(a, b) for a, b in zip(text.splitlines(), mutant.splitlines()) if a != b]
        check(f"{site.rule} changes its lines and no other", mutant != text and
              text[:site.start] == mutant[:site.start] and text[site.end:] == mutant[site.start + len(site.after):] and
              len(changed) <= 2 and len(text.splitlines()) == len(mutant.splitlines()), str(site))
    try:
        found[0].apply("x" + text)
        check("a site refuses another text", False)
    except ValueError:
        pass


def check_files_of_one_kind():
    """Rules that only look at some files."""
    wait = "void f(void)\n{\n    clWaitForEvents(1, &event->cl);\n    g(queue, 1, &staging->busy, CL_TRUE);\n}\n"
    news = [site.new for site in sites.sites_of("src/runtime/queue.c", wait) if site.rule == "missing_wait"]
    check("missing_wait in the runtime", news == ["CL_SUCCESS;", "g(queue, 0, NULL, CL_TRUE);",
                                                  "g(queue, 1, &staging->busy, CL_FALSE);"], news)
    cache = "int f(void)\n{\n    return a.size == size && memcmp(a.key, key) == 0;\n}\n"
    news = [site.new for site in sites.sites_of("src/runtime/cache.c", cache) if site.rule == "unverified_cache"]
    check("unverified_cache in the cache", news == ["return true && memcmp(a.key, key) == 0;",
                                                    "return a.size == size && true;"], news)
    add = "void f(void)\n{\n    y = a + b * (c + d);\n}\n"
    news = [site.new for site in sites.sites_of("cl/f.cl", add) if site.rule == "wrong_sign"]
    check("wrong_sign", news == ["y = a - b * (c + d);", "y = a + b * (c - d);"], news)
    zeros = ("void f(void)\n{\n    int count = 0, one;\n    int total = 0;\n    int last = 0;\n"
             "    acc[i] = (vf)(0.0f);\n    run = 0.0f;\n"
             "    for (int i = 0; i < n; ++i)\n        total += i;\n    one = 0 + n;\n}\n")
    news = [site.new for site in sites.sites_of("cl/f.cl", zeros) if site.rule == "dropped_fill"]
    check("dropped_fill in a kernel", news == [";", ";", "int total = 1;"], news)
    fills = ("husk_status husk_buffer_fill(husk_queue *queue)\n{\n    memset(own, 0, sizeof *own);\n"
             "    memset(own, 1, 2);\n    code = clEnqueueFillBuffer(queue->cl, f(0), &event);\n"
             "    return husk_buffer_fill(queue, size(0),\n                            1);\n}\n")
    news = [site.new for site in sites.sites_of("src/ops/f.c", fills) if site.rule == "host_dropped_fill"]
    check("dropped_fill in the library", news == [";", "code = CL_SUCCESS;", "return HUSK_OK;"], news)


def check_draw(found):
    per_rule = {rule.name: sum(site.rule == rule.name for site in found) for rule in rules.RULES}
    check("every rule has a site in the tree", all(per_rule.values()), [name for name, n in per_rule.items() if not n])
    check("no two sites of one id", len({site.id for site in found}) == len(found))
    for side in (rules.KERNEL, rules.HOST):
        first = [site.id for site in sites.draw(found, 1, side)]
        check("a draw has every site once", sorted(first) == sorted(site.id for site in found if site.side == side))
        check("the same twice for one seed", first == [site.id for site in sites.draw(found[::-1], 1, side)])
        check("another for another seed", first[:40] != [site.id for site in sites.draw(found, 2, side)][:40])
        names = [rule.name for rule in rules.RULES if rule.side == side]
        turn = [site.rule for site in sites.draw(found, 1, side)[:len(names)]]
        check("each rule in turn", sorted(turn) == sorted(names), turn)
    # One file changes: the draw among the others is as before.
    fewer = [site for site in found if site.path != "cl/lib/dtype.clh"]
    before = [site.id for site in sites.draw(found, 1, rules.KERNEL) if site.path != "cl/lib/dtype.clh"]
    check("other files stay in their order", rank_kept(before, [x.id for x in sites.draw(fewer, 1, rules.KERNEL)]))
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-B", os.path.join(mutation.HERE, "mutation.py"), "--list", "--seed", "7"]
        listed = subprocess.run(command + ["--folder", folder], check=True, capture_output=True, text=True).stdout
    own = [site.id for site in mutation.Draw(7, 40, found).chosen({})[0]]
    check("the same in another process", re.findall(r"^([0-9a-f]{12}) ", listed, re.M) == own, listed)


def rank_kept(before, after):
    """Of the first 40 of a draw, nearly all are among the first 48 of the other."""
    return len(set(before[:40]) & set(after[:48])) >= 38


def check_exemptions(found):
    by_id = {site.id: site for site in found}
    for number, (_, rule, path, _) in mutation.exemptions().items():
        site = by_id.get(number)
        check(f"exempt.txt: {number} is a site of today's tree", site and (site.rule, site.path) == (rule, path))


def check_stages(found):
    """Every file has tests that look at it; a hint brings the simulator or the failing calls."""
    map_ = stages.Map(mutation.ROOT)
    rows = set(map_.op_of)
    tests = {name: {"labels": ["default"]} for name in [f"ops/{row}" for row in rows] + ["runtime/pool", "select/plan"]}
    tests["faults/bench/fault_sweep"] = {"labels": ["faults"]}
    tests["structure/house"] = {"labels": ["default"]}
    for site in {site.path: site for site in found}.values():
        first = sum(stages.stages_of(site, map_, tests), [])[0]
        own = map_.row_of(site.path)
        if own and site.path.startswith(("cl/", "src/ops/")) and not site.path.startswith("cl/lib/"):
            check(f"{site.path} is looked at by its operator", first in (f"verify/{own}", f"ops/{own}"), first)
        else:
            check(f"{site.path} is looked at", re.match(r"verify/|ops/|runtime/|select/", first), first)
    for site in found:
        if site.path == "cl/softmax/rows.cl" and site.rule == "guard":
            names = sum(stages.stages_of(site, map_, tests), [])
            check("softmax's stages", names[:2] == ["verify/softmax", "ops/softmax"] and
                  re.match(r"oclgrind:(races|memory)/softmax ", names[2]), names)
            check("no test of the house is asked", "structure/house" not in names)
    first = map_.simulated("gemm", "gemm_packed")[0]
    check("the simulator begins with the file's variant", "--variant packed" in first, first)
    check("cases go by direction", all("dir=bwd" in line for line in map_.cases_of("softmax_backward", map_.cases)) and
          not any("dir=" in line for line in map_.cases_of("softmax", map_.cases)))


class FakeCopy:
    """Stages whose answers are known beforehand."""

    def __init__(self, folder, answers, patiently=None):
        self.folder, self.work, self.answers = folder, folder, answers
        self.patiently = patiently or answers
        self.deadline = time.time() + 1000
        self.map = stages.Map(mutation.ROOT)
        self.tests = {}
        self.planted = None

    def synchronise(self):
        pass

    def restore(self, path):
        pass

    def plant(self, site):
        self.planted = site

    def try_stage(self, stage, limit=None, beyond=False):
        return self.answers(stage, self.planted) if not beyond else self.patiently(stage, self.planted)


def check_verdicts(found):
    passes = ("built", 0, "", 1.0)
    worlds = {
        "all are seen": (lambda stage, site: ("built", 3, "", 1.0) if site else passes, 0, "3 of 3 killed"),
        "a hang is seen": (lambda stage, site: ("built", -1000, "", 1.0) if site else passes, 0, "3 of 3 killed"),
        "nobody sees anything": (lambda stage, site: passes, 1, "0 of 3 killed, 3 survived"),
        "what fails anyway kills nobody": (lambda stage, site: ("built", 1, "", 1.0), 2, "0 of 3 killed"),
        "what is skipped kills nobody": (lambda stage, site: ("built", 77, "", 1.0), 1, "0 of 3 killed"),
    }
    for what, (answers, status, line) in worlds.items():
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as said:
            draw = mutation.Draw(1, 3, found)
            book = mutation.Book(mutation.ROOT, folder)
            os.makedirs(os.path.join(folder, "pocl"))
            run = mutation.Run(FakeCopy(folder, answers), book, False)
            unfinished = mutation.summary(draw, book)
            for site in draw.chosen({})[0]:
                run.mutant(site)
            ended = mutation.summary(draw, mutation.Book(mutation.ROOT, folder)) # as read from the file
        said = said.getvalue()
        check(f"verdicts where {what}", (unfinished, ended) == (3, status) and line in said, said)
    # One that is only slow is not seen; and a book whose last line is half there is read up to it.
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as said:
        draw = mutation.Draw(1, 3, found)
        book = mutation.Book(mutation.ROOT, folder)
        os.makedirs(os.path.join(folder, "pocl"))
        slow = FakeCopy(folder, lambda stage, site: ("built", -1000, "", 1.0) if site else passes, lambda *_: passes)
        run = mutation.Run(slow, book, False)
        for site in draw.chosen({})[0]:
            run.mutant(site)
        with open(book.path, "a", encoding="utf-8") as file:
            file.write('{"stage": "ops/so')
        ended = mutation.summary(draw, mutation.Book(mutation.ROOT, folder))
        mutation.Book(mutation.ROOT, folder).write(stage="ops/softmax", good=True, seconds=1.0)
        known = mutation.Book(mutation.ROOT, folder).stages
    check("what is only slow is not seen", ended == 1 and "0 of 3 killed, 3 survived" in said.getvalue(),
          said.getvalue())
    check("a book goes on behind half a line", known.get("ops/softmax", {}).get("good"), known)
    # One that does not compile is no mutant: another one takes its place.
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as said:
        draw = mutation.Draw(1, 3, found)
        dead = draw.chosen({})[0][0]
        book = mutation.Book(mutation.ROOT, folder)
        os.makedirs(os.path.join(folder, "pocl"))
        said_no = ("built", 1, "x.cl does not build with", 1.0)
        run = mutation.Run(FakeCopy(folder, lambda stage, site: said_no if site else passes), book, False)
        run.mutant(dead)
        counted, replaced = draw.chosen(book.verdicts)
    good = len(counted) == 3 and replaced == [dead] and dead not in counted
    check("the stillborn are replaced", good, said.getvalue())


def main():
    found = sites.all_sites(mutation.ROOT)
    check_fixture("cl/fixture.cl", KERNEL)
    check_fixture("src/ops/fixture.c", HOST)
    check_files_of_one_kind()
    check_draw(found)
    check_exemptions(found)
    check_stages(found)
    check_verdicts(found)
    print(f"{len(rules.RULES)} rules, {len(found)} sites, {len(FAILURES)} failures")
    return 1 if FAILURES else 0


if __name__ == "__main__":
    sys.exit(main())
