"""What a step of the program's own model is predicted to need, from the description that the model gave of
itself, where the program failed before a step was traced.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tfmemlens import attribution
from tfmemlens.errors import Unpredictable, UnreadableInput, UsageError
from tfmemlens.estimation.possible_step import check_is_possible
from tfmemlens.knowledge.device_names import CPU, GPU, kind_of_device
from tfmemlens.model.case import Case
from tfmemlens.model.incident import RequestKind
from tfmemlens.model.settings import StepSettings
from tfmemlens.model.what_if import FailureForecast, StepForecast
from tfmemlens.values import replace

if TYPE_CHECKING:
    from tfmemlens.model.network import Network

_MOST_LAYERS = 400
"""A prediction takes about 10 ms a layer, and a page has seconds."""
_LAYERS = 5


def predicted_failure(
    case: Case, index: int, recorded_network: Callable[[], Network | None]
) -> FailureForecast | None:
    """The training step at the batch that failed, and at the largest halved one whose peak the limit holds at
    the upper end of its bar. None without a description, a limit or a batch, and beside a traced step, which
    knows better.
    """
    moment, live = case.moments[index], case.capture.live_model
    limit = moment.balance.limit
    batch = (live.failed_batch or live.batch) if live else None
    if live is None or live.description is None or limit is None or batch is None or _traced(case):
        return None
    if moment.request is None or moment.request.failed.kind is not RequestKind.TENSOR:
        return None
    network = recorded_network()
    if network is None or len(network.layers) > _MOST_LAYERS:
        return None
    told = moment.request.failed
    on_gpu = kind_of_device(told.device or "", told.allocator or "") == GPU
    settings = StepSettings(batch=batch, device=GPU if on_gpu else CPU)
    failed = _step(network, settings)
    if failed is None:
        return None
    name = live.names[0] if len(live.names) == 1 else network.name
    if failed.peak_bytes <= limit.bytes:
        return FailureForecast(name, failed)
    return FailureForecast(name, failed, _smaller(network, settings, failed, limit.bytes))


def _smaller(
    network: Network, settings: StepSettings, failed: StepForecast, limit: int
) -> StepForecast | None:
    """Half the batch, or half of that, and so on, from where the bar in proportion is below the limit: since
    not all of a step grows with the batch it is predicted, too, and once more at half of it.
    """
    batch = settings.batch // 2
    while batch > 1 and failed.high_bytes * batch > limit * settings.batch:
        batch //= 2
    for smaller in (batch, batch // 2):
        step = _step(network, replace(settings, batch=smaller)) if smaller else None
        if step is None or step.high_bytes <= limit:
            return step
    return None


def _step(network: Network, settings: StepSettings) -> StepForecast | None:
    from tfmemlens.estimation.keras_step import capture

    try:
        check_is_possible(settings)
        found = capture.capture(network, settings, needs_limit=False)
    except (Unpredictable, UnreadableInput, UsageError):
        return None
    moment = attribution.attribute(found).moments[0]
    if moment.error_bar is None:
        return None
    low, high = moment.error_bar
    groups = [group for group in moment.attribution.by("layer") if group.name and group.total_bytes]
    layers = tuple((str(group.name), group.total_bytes) for group in groups[:_LAYERS])
    return StepForecast(settings.batch, moment.attribution.table.total_bytes, low, high, layers)


def _traced(case: Case) -> bool:
    return any(other.timeline is not None and not other.predicted for other in case.moments)
