"""`python -m actonce.conformance.mutants`: judge the mutants, and write their page."""

import argparse
import pickle
import random
import resource
import sys
from datetime import UTC, datetime
from pathlib import Path

from actonce.conformance.mutants import page
from actonce.conformance.mutants.judging import (
    Judged,
    all_mutants,
    judge_all,
    walk_what_ships,
)
from actonce.sources import in_clone


def main() -> int:
    """Exit status: 0; 1, a survivor that nobody has explained, or one explained that is gone."""
    parser = argparse.ArgumentParser(prog="python -m actonce.conformance.mutants")
    parser.add_argument("--only", default="", help="mutants whose name has this in it")
    parser.add_argument("--most", type=int, help="so many, drawn by lot")
    parser.add_argument("--list", type=Path, help="only those whose names are the lines of a file")
    parser.add_argument("--seconds", type=float, help="of a processor, for each mutant")
    parser.add_argument("--known", type=Path, help="keep what is walked first, for runs to come")
    parser.add_argument("--processes", type=int, default=2, help="side by side")
    parser.add_argument("--write", action="store_true", help="write docs/conformance-mutants.md")
    options = parser.parse_args()
    if options.write and (options.only or options.list or not in_clone()):
        parser.error("--write writes the whole page, in a clone: leave out --only and --list")
    everything = all_mutants()
    mutants = [one for one in everything if options.only in one.name]
    if options.list is not None:
        listed = set(options.list.read_text().splitlines())
        mutants = [one for one in mutants if one.name in listed]
    if options.most is not None and options.most < len(mutants):
        chance = random.Random("mutants")  # noqa: S311 - not for secrets
        drawn = chance.sample(range(len(mutants)), options.most)
        mutants = [mutants[index] for index in sorted(drawn)]
    judged = []
    names = [one.name for one in mutants]
    if options.known is not None and options.known.exists():
        known = pickle.loads(options.known.read_bytes())  # noqa: S301 - of an earlier run
    else:
        known = walk_what_ships(options.processes)
        if options.known is not None:
            options.known.write_bytes(pickle.dumps(known))
    found = judge_all(names, known, processes=options.processes, seconds=options.seconds)
    for number, one in enumerate(found, start=1):
        judged.append(one)
        print(f"{number}/{len(mutants)} {one.name}: {_end(one)}", flush=True)
    if options.write:
        today = datetime.now(UTC).date().isoformat()
        minutes = round(sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) / 60)
        page.PAGE.write_text(page.render(page.Run(today, len(everything), judged, minutes)))
    unexplained = page.unexplained(judged)
    stale = page.stale(one.name for one in everything)
    for told, of in (
        ("not explained", unexplained),
        ("explained, and there is no such mutant any more", stale),
        ("explained, and noticed", page.needless(judged)),
    ):
        for name in of:
            print(f"{told}: {name}", file=sys.stderr)
    return 1 if unexplained or stale else 0


def _end(one: Judged) -> str:
    if one.cell is not None:
        return f"{one.how} ({', '.join(one.cell)})"
    return f"NOT NOTICED in {one.cells} cells{', and there are more' if one.is_cut else ''}"


if __name__ == "__main__":
    sys.exit(main())
