"""`actonce console`: what waits for a person, what happened to any message, and deciding, as pages.

    server.py          binds to loopback, makes the token, runs until Ctrl-C
    access.py          who may ask: Host, Origin, token, cookie; and what a page may load
    app.py             the addresses, and the answer where a view fails
    context.py         what all views share: the stack, caches, queues, jobs
    queue_cache.py     reads each queue once for however many tabs; keeps what each form showed
    cache.py           asks AWS how the stack is no more often than it has to
    jobs.py            decisions, sending back and discarding, one after the other, each begun once
    views/             one module per view

The views show what `where`, `list`, `status`, `dead-letters` and `unstarted` know, by the same
code; nothing is decided here.
"""
