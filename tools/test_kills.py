#!/usr/bin/env python3
"""Kills runs at random moments and looks for what was lost, measured twice, or left behind.

    tools/test_kills.py PROGRAM [--kills N] [--seed S]

Results folders are filled by runs that are killed (SIGKILL) singly and in pairs: two shards of one plan, or two runs
of which the second is refused. In between the disk is full (a small tmpfs; without the right to mount one, a limit on
the size of files), or read-only, or the clock jumps by years. After every kill: a cell that was stored is there,
whole, and its bytes are the same; a cell that the run reported is stored; no worker lives. Then the folder is
finished in peace: the same tables as a run that nobody disturbed, and the same files, with nothing beside them.
Exit 1 with the first finding and the seed; a table of what was done otherwise.
"""

import argparse
import collections
import ctypes
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CELLS = 16
EXPERIMENT = """version = 1
id = "selftest/probe"
protocol = "selftest/behaviour"
title = "Probe"
question = "Does it?"
citation = "nobody"
datasets = ["here"]
[settings]
milliseconds = 10
[axes]
size = [1, 2, 3, 4, 5, 6, 7, 8]
[[algorithm]]
name = "good"
label = "good"
k = [1, 2]
[table]
rows = "{label}"
over = ["size", "k"]
columns = [{ name = "product", metric = "product", statistic = "mean" }]
"""
# Another wall clock (the steady one does not jump, which is what it is for), and a file system without nameless files.
OTHER_SYSTEM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
static time_t jump(void) { const char *by = getenv("KILLS_CLOCK"); return by ? atol(by) : 0; }
int clock_gettime(clockid_t id, struct timespec *t) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int result = real(id, t);
  if (id == CLOCK_REALTIME) t->tv_sec += jump();
  return result;
}
time_t time(time_t *out) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  if (out) *out = t.tv_sec;
  return t.tv_sec;
}
int gettimeofday(struct timeval *t, void *zone) {
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  t->tv_sec = now.tv_sec;
  t->tv_usec = now.tv_nsec / 1000;
  return 0;
}
int open(const char *path, int flags, ...) {
  static int (*real)(const char *, int, ...);
  va_list more;
  va_start(more, flags);
  mode_t mode = va_arg(more, mode_t);
  va_end(more);
  if (!real) real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
  if ((flags & O_TMPFILE) != O_TMPFILE || !getenv("KILLS_NAMED")) return real(path, flags, mode);
  errno = EOPNOTSUPP;
  return -1;
}
"""


class Finding(Exception):
    pass


def enter_mount_namespace():
    """Starts this script again where it may mount and nobody sees it; False where that is not allowed."""
    if os.environ.get("KILLS_NAMESPACE"):
        return True
    for how in (["unshare", "-m"], ["unshare", "-r", "-m"]):
        trial = how + ["sh", "-c", "d=$(mktemp -d) && mount -t tmpfs none $d && umount $d; s=$?; rmdir $d; exit $s"]
        try:
            if subprocess.run(trial, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
                os.environ["KILLS_NAMESPACE"] = "1"
                os.execvp(how[0], how + [sys.executable] + sys.argv)
        except OSError:
            pass
    return False


def files_below(folder):
    return sorted(os.path.relpath(os.path.join(path, name), folder) for path, _, names in os.walk(folder) for name in names)


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Kills:
    def __init__(self, program, seed, work, may_mount):
        self.program, self.work, self.may_mount = os.path.abspath(program), work, may_mount
        self.random = random.Random(seed)
        self.done = collections.Counter()
        self.named = False  # temporary files bear names
        self.temporary = os.path.join(work, "tmp")
        for folder in ("root/experiments/selftest", "root/plots", "tmp"):
            os.makedirs(os.path.join(work, folder))
        with open(os.path.join(work, "root/experiments/selftest/probe.toml"), "w", encoding="utf-8") as file:
            file.write(EXPERIMENT)
        self.environment = dict(os.environ, RETABLE_SELFTEST="1", RETABLE_ROOT=os.path.join(work, "root"), NO_COLOR="1",
                                RETABLE_CACHE=os.path.join(work, "cache"), TMPDIR=self.temporary)
        self.environment.pop("RETABLE_OPENML_URL", None)
        self.library = self.build_library()
        calm = os.path.join(work, "calm")
        begin = time.monotonic()
        self.finish(calm, 0)
        self.duration = time.monotonic() - begin
        self.files = set(files_below(calm))
        self.tables = {name: read(os.path.join(calm, name)) for name in self.files if name.endswith("probe.csv") or name.endswith("tidy.csv")}

    def build_library(self):
        source, library = os.path.join(self.work, "other.c"), os.path.join(self.work, "other.so")
        with open(source, "w", encoding="utf-8") as file:
            file.write(OTHER_SYSTEM)
        built = subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], stderr=subprocess.DEVNULL)
        # A sanitizer's library wants to be the first.
        return library if built.returncode == 0 and b"__asan" not in read(self.program) else None

    def start(self, out, more, fault):
        environment, limit = dict(self.environment), None
        if self.library:
            environment["LD_PRELOAD"] = self.library
            if fault == "clock":
                environment["KILLS_CLOCK"] = str(self.random.randint(-10**9, 10**9))
            if self.named:
                environment["KILLS_NAMED"] = "1"
        if fault == "limit":
            limit = self.random.choice([0, 700, 1400, 5000])

        def prepare():
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: not longer than this script
            if limit is not None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        return subprocess.Popen([self.program, "run", "selftest/probe", "--out", out, *more], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                env=environment, start_new_session=True, preexec_fn=prepare)

    def finish(self, out, known):
        """A run that nobody disturbs: it measures what is missing and nothing else."""
        child = self.start(out, ["--jobs", "2"], "")
        text = child.communicate(timeout=300)[0].decode()
        if child.returncode != 0 or f"{CELLS - known} measured, {known} stored before, none left" not in text:
            raise Finding(f"{known} cells were stored; the run in peace said ({child.returncode}):\n{text}")

    def check_end(self, child, killed, fault):
        """@return how many cells the run reported as measured"""
        text = child.communicate(timeout=60)[0].decode(errors="replace")
        if killed:
            self.done["kills"] += 1
        elif child.returncode not in (0, 1) or "terminate called" in text or (child.returncode == 1 and not re.search(
                r"is full|raise the limit|not writable|in use by another run", text)):
            raise Finding(f"ended with {child.returncode} (fault: {fault or 'none'}):\n{text}")
        # Its workers die with it.
        deadline = time.monotonic() + 10
        while workers_of(child.pid):
            if time.monotonic() > deadline:
                raise Finding(f"workers of process {child.pid} live on")
            time.sleep(0.01)
        return len(re.findall(r"^\[\d+/\d+[^\]]*\] .*: ok in", text, re.M))

    def look(self, out, known, told):
        """Every stored cell is whole, and the same as before."""
        cells = os.path.join(out, "cells")
        now = {}
        for name in os.listdir(cells) if os.path.isdir(cells) else ():
            if not name.endswith(".json"):
                continue
            now[name] = text = read(os.path.join(cells, name))
            head, checksum, body = text.split(b"\n", 2) if text.count(b"\n") > 2 else (b"", b"", b"")
            if b'"sha256": "' + hashlib.sha256(body).hexdigest().encode() + b'",' != checksum.strip():
                raise Finding(f"{name} is torn or has no checksum")
        for name, text in known.items():
            if name not in now:
                raise Finding(f"the cell {name} is lost")
            if now[name] != text:
                raise Finding(f"the cell {name} was measured twice")
        if len(now) - len(known) < told:
            raise Finding(f"{told} cells were reported, {len(now) - len(known)} are stored")
        self.done["looks at a cell"] += len(now)
        known.update(now)

    def strike(self, out, kind, fault, disk):
        """Runs of a kind, killed at a random moment. @return cells that they reported"""
        commands = {"single": [[]], "shards": [["--shard", "1/2"], ["--shard", "2/2"]], "rivals": [[], []]}[kind]
        midway = fault in ("full", "read-only") and self.random.random() < 0.5
        if not midway:
            disk.spoil(fault)
        runs = [self.start(out, ["--jobs", str(self.random.randint(1, 2)), *more], fault) for more in commands]
        moments = [self.random.uniform(0, self.duration * 0.7) for _ in runs]
        if self.random.random() < 0.5:
            moments = [moments[0]] * len(runs)  # both at once
        begin = time.monotonic()
        if midway:
            time.sleep(min(moments) * 0.5)
            disk.spoil(fault)
        told = 0
        for moment, child in sorted(zip(moments, runs), key=lambda pair: pair[0]):
            time.sleep(max(0, begin + moment - time.monotonic()))
            killed = child.poll() is None
            if killed:
                child.kill()
            child.wait()
            killed = child.returncode == -signal.SIGKILL
            self.done[f"{kind}{', ' + fault if fault else ''}"] += killed
            told += self.check_end(child, killed, fault)
        disk.heal()
        if fault == "clock":
            for path in files_below(out):
                year = self.random.randint(0, 2**31)
                os.utime(os.path.join(out, path), (year, year))
        return told

    def campaign(self, number, kills):
        disk = Disk(os.path.join(self.work, f"disk{number}"), self.may_mount and number % 2 == 0, self.random)
        self.named = number % 4 in (1, 2)
        try:
            out, known = os.path.join(disk.folder, "out"), {}
            faults = ["", "", "clock", "limit"] + (["full", "read-only"] * 2 if disk.mounted else [])
            end = self.done["kills"] + kills
            while self.done["kills"] < end and len(known) < CELLS:
                told = self.strike(out, self.random.choice(["single", "shards", "rivals"]), self.random.choice(faults), disk)
                self.look(out, known, told)
            self.finish(out, len(known))
            self.look(out, known, 0)
            for name, text in self.tables.items():
                if read(os.path.join(out, name)) != text:
                    raise Finding(f"{name} is not that of a run in peace")
            # A run that measured leaves what it was on in runs/: one file each, and whole.
            here = {name for name in files_below(out) if not name.startswith("runs/")}
            for name in set(files_below(out)) - here:
                json.loads(read(os.path.join(out, name)))
            left = here ^ {name for name in self.files if not name.startswith("runs/")}
            left |= set(files_below(self.temporary)) | (set(os.listdir(disk.folder)) - {"out"})
            if left:
                raise Finding(f"files left or missing: {sorted(left)}")
            self.done["folders filled"] += 1
        finally:
            disk.close()


class Disk:
    """A folder, or a small disk of its own that can be full or read-only."""

    def __init__(self, folder, mount, rng):
        self.folder, self.random, self.mounted = folder, rng, False
        os.makedirs(folder)
        if mount:
            self.mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", folder]).returncode == 0

    def spoil(self, fault):
        if fault == "full":
            with open(os.path.join(self.folder, "filler"), "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(b"x" * 4096)
                except OSError:
                    pass
                size = file.tell()
                file.truncate(max(0, size - 4096 * self.random.randint(0, 6)))
        if fault == "read-only":  # refused while a file is being written, which is another moment to test
            subprocess.run(["mount", "-o", "remount,ro", self.folder], stderr=subprocess.DEVNULL)

    def heal(self):
        if not self.mounted:
            return
        subprocess.run(["mount", "-o", "remount,rw", self.folder])
        if os.path.exists(os.path.join(self.folder, "filler")):
            os.remove(os.path.join(self.folder, "filler"))

    def close(self):
        if self.mounted:
            subprocess.run(["umount", "-l", self.folder])
        shutil.rmtree(self.folder)


def workers_of(session):
    """Processes of a session, its first one (dead by now) aside."""
    alive = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            fields = read(f"/proc/{name}/stat").decode(errors="replace").rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[3]) == session and fields[0] not in "ZX":
            alive.append(int(name))
    return alive


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    arguments = parser.parse_args()
    if not os.environ.get("KILLS_NAMESPACE") and "--seed" not in sys.argv:
        sys.argv += ["--seed", str(arguments.seed)]
    may_mount = enter_mount_namespace()
    work = tempfile.mkdtemp(prefix="retable-kills-")
    begin = time.monotonic()
    try:
        kills = Kills(arguments.program, arguments.seed, work, may_mount)
        number = 0
        while kills.done["kills"] < arguments.kills:
            kills.campaign(number, min(10, arguments.kills - kills.done["kills"]))
            number += 1
    except Finding as finding:
        print(f"seed {arguments.seed}: {finding}")
        return 1
    finally:
        shutil.rmtree(work, ignore_errors=True)
    for what, count in sorted(kills.done.items()):
        print(f"{count:7} {what}")
    print(f"0 cells lost, 0 measured twice, 0 files left, 0 workers left; seed {arguments.seed}, {time.monotonic() - begin:.0f} s"
          + ("" if may_mount else "; no disk could be mounted: a limit on the size of files stands for the full one"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
