"""How many deliveries of late were started, suppressed, refused, or failed."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from actonce.messages.delivery_log import delivery_lines
from actonce.stack.clients import Stack

ENDS: Final = ("started", "suppressed", "refused", "failed")
"""How a delivery ends, as the starter's log and metrics call it."""

BACK: Final = timedelta(minutes=5)

_NAMESPACE: Final = "ActOnce"


@dataclass(frozen=True, slots=True)
class DeliveryRates:
    """Deliveries of the last minutes, by how they ended.

    Attributes:
        numbers: one of each of `ENDS`.
        since: from when on (UTC).
        of_metrics: as CloudWatch counts, a minute or two late; else by the starter's log.
        errors: what those that failed failed by, as far as the log was read. They come back by
            themselves.
    """

    numbers: Mapping[str, int]
    since: datetime
    of_metrics: bool
    errors: Mapping[str, int] = field(default_factory=dict)


def delivery_rates(stack: Stack, now: datetime) -> DeliveryRates:
    """Count; by the metrics, or where CloudWatch has none, as on the embedded AWS, by the log.

    Raises:
        ClientError: they may not be read.
    """
    since = now - BACK
    if stack.aws.endpoint_url is not None:
        lines = list(delivery_lines(stack, since=since))
        counted = Counter(line.get("end") for line in lines)
        errors = Counter(str(line.get("error")) for line in lines if line.get("end") == "failed")
        numbers = {end: counted[end] for end in ENDS}
        return DeliveryRates(numbers, since, of_metrics=False, errors=dict(errors.most_common(3)))
    answer = stack.aws.client("cloudwatch").get_metric_data(
        MetricDataQueries=[
            {
                "Id": end,
                "MetricStat": {
                    "Metric": {
                        "Namespace": _NAMESPACE,
                        "MetricName": end.capitalize(),
                        "Dimensions": [{"Name": "service", "Value": stack.service}],
                    },
                    "Period": 60,
                    "Stat": "Sum",
                },
            }
            for end in ENDS
        ],
        StartTime=since,
        EndTime=now,
    )
    sums = {one["Id"]: round(sum(one["Values"])) for one in answer["MetricDataResults"]}
    return DeliveryRates({end: sums.get(end, 0) for end in ENDS}, since, of_metrics=True)
