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
from actonce.conformance.mutants.kept import Kept, code_judged
from actonce.conformance.mutants.mutant import Mutant
from actonce.sources import in_clone


def main() -> int:
    """Exit status: 0; 1, a survivor that nobody has explained, or one explained that is gone."""
    parser = argparse.ArgumentParser(prog="python -m actonce.conformance.mutants")
    parser.add_argument("--only", default="", help="mutants whose name has this in it")
    parser.add_argument("--most", type=int, help="so many, drawn by lot")
    parser.add_argument("--list", type=Path, help="only those whose names are the lines of a file")
    parser.add_argument("--seconds", type=float, help="of a processor, for each mutant")
    parser.add_argument("--known", type=Path, help="keep what is walked first, for runs to come")
    parser.add_argument("--judged", type=Path, help="keep what is judged, and go on from there")
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
    mutants = _drawn(mutants, options.most)
    kept = Kept(options.judged, code_judged()) if options.judged is not None else None
    judged = [kept.judged[one.name] for one in mutants if kept and one.name in kept.judged]
    names = [one.name for one in mutants if kept is None or one.name not in kept.judged]
    if options.known is not None and options.known.exists():
        known = pickle.loads(options.known.read_bytes())  # noqa: S301 - of an earlier run
    else:
        known = walk_what_ships(options.processes)
        if options.known is not None:
            options.known.write_bytes(pickle.dumps(known))
    found = judge_all(names, known, processes=options.processes, seconds=options.seconds)
    for number, one in enumerate(found, start=1 + len(judged)):
        judged.append(one)
        if kept is not None:
            kept.keep(one)
        print(f"{number}/{len(mutants)} {one.name}: {_end(one)}", flush=True)
    if options.write:
        today = datetime.now(UTC).date().isoformat()
        order = {one.name: number for number, one in enumerate(everything)}
        judged.sort(key=lambda one: order[one.name])
        is_whole = len(names) == len(mutants)
        minutes = round(sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]) / 60)
        run = page.Run(today, len(everything), judged, minutes if is_whole else None)
        page.PAGE.write_text(page.render(run))
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


def _drawn(mutants: list[Mutant], most: int | None) -> list[Mutant]:
    """So many of them, the same each time, in their order."""
    if most is None or most >= len(mutants):
        return mutants
    chance = random.Random("mutants")  # noqa: S311 - not for secrets
    return [mutants[index] for index in sorted(chance.sample(range(len(mutants)), most))]


def _end(one: Judged) -> str:
    if one.cell is not None:
        return f"{one.how} ({', '.join(one.cell)})"
    return f"NOT NOTICED in {one.cells} cells{', and there are more' if one.is_cut else ''}"


if __name__ == "__main__":
    sys.exit(main())
