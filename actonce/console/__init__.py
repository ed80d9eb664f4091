"""`actonce console`: what waits for a person, what happened to any message, and deciding, as pages.

    server.py          binds to loopback, makes the token, runs until Ctrl-C
    access.py          who may ask: Host, Origin, token, cookie; and what a page may load
    app.py             the addresses, and what is told of errors
    context.py         what all views share: the stack, caches, queue scans, jobs
    queue_scans.py     each queue is read once for however many tabs, and kept as snapshots
    cache.py           how the stack is, asked for no more often than it has to be
    jobs.py            decisions, sending back and discarding, one after the other, each begun once
    read_only.py       refuses calls of AWS that change something where it is read-only
    views/             one module per view

The views show what `where`, `list`, `status`, `dead-letters` and `unstarted` know, by the same
code; nothing is decided here.
"""
