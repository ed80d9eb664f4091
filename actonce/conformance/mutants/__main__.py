"""`python -m actonce.conformance.mutants`: judge the mutants, and write their page."""

import argparse
import random
import sys
from datetime import UTC, datetime

from actonce.conformance.mutants import page
from actonce.conformance.mutants.judging import all_mutants, judge
from actonce.sources import in_clone


def main() -> int:
    """Exit status: 0; 1, there are survivors that nobody has explained."""
    parser = argparse.ArgumentParser(prog="python -m actonce.conformance.mutants")
    parser.add_argument("--only", default="", help="mutants whose name has this in it")
    parser.add_argument("--most", type=int, help="so many, drawn by lot")
    parser.add_argument("--write", action="store_true", help="write docs/conformance-mutants.md")
    options = parser.parse_args()
    if not in_clone():
        parser.error("the mutants are judged by the pages of docs/, so this needs a clone")
    if options.write and options.only:
        parser.error("--write writes the whole page: leave out --only")
    everything = all_mutants()
    mutants = [one for one in everything if options.only in one.name]
    if options.most is not None and options.most < len(mutants):
        chance = random.Random("mutants")  # noqa: S311 - not for secrets
        drawn = chance.sample(range(len(mutants)), options.most)
        mutants = [mutants[index] for index in sorted(drawn)]
    judged = []
    for number, one in enumerate(judge(mutants), start=1):
        judged.append(one)
        end = f"{one.how} ({one.hazard})" if one.is_noticed else "NOT NOTICED"
        print(f"{number}/{len(mutants)} {one.mutant.name}: {end}", flush=True)
    if options.write:
        today = datetime.now(UTC).date().isoformat()
        page.PAGE.write_text(page.render(page.Run(today, len(everything), judged)))
    unexplained = page.unexplained(judged)
    for name in unexplained:
        print(f"not explained: {name}", file=sys.stderr)
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
