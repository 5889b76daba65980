"""The compiled loop of the local search: classes are opened or enlarged one by one if that saves cells.

:func:`compiled_sweep` is for large inputs. Small inputs run the same function interpreted, so that they never wait for the compiler.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reticent.base.compiled import compiled


def sweep(
    order: Any,
    members: Any,
    member_starts: Any,
    choices: Any,
    choice_starts: Any,
    price: Any,
    of_unit: Any,
    size: Any,
    least: int,
) -> Any:
    """Try every class of ``order`` once: let it take units that cost more in their current class. Returns the cost saved.

    Class ``c`` may have the units ``members[member_starts[c]:member_starts[c + 1]]``, and a unit in it costs
    ``price[c]``. Unit ``u`` may go to the classes ``choices[choice_starts[u]:choice_starts[u + 1]]``, cheapest first,
    and is in ``of_unit[u]``. ``size[c]`` is the size of class ``c``, 0 if it is closed.

    A class that loses units keeps at least ``least``, or is closed, and its other units move to their cheapest open
    class, which then stays open. A new class with too few units also takes units that cost less in their current class,
    as long as there is a net saving.
    """
    units, classes = len(of_unit), len(price)
    wanted, taking = np.zeros(classes, dtype=np.int64), np.zeros(classes, dtype=np.int64)
    givers, homes = np.empty(classes, dtype=np.int64), np.empty(units, dtype=np.int64)
    needed, mine = np.zeros(classes, dtype=np.bool_), np.zeros(units, dtype=np.bool_)
    saved = 0
    for taker in order:
        start, end = member_starts[taker], member_starts[taker + 1]
        count = settled = 0
        for place in range(start, end):
            mine[members[place]] = True
            giver = of_unit[members[place]]
            if giver != taker:
                if wanted[giver] == 0:
                    givers[count] = giver
                    count += 1
                wanted[giver] += 1
        gain, taken = 0, size[taker]
        for number in range(count):
            giver = givers[number]
            step = price[giver] - price[taker]
            free = min(wanted[giver], size[giver] - least)
            taking[giver] = free if step > 0 else 0
            if step > 0 and wanted[giver] > free and not needed[giver]:
                worth, homeless = wanted[giver] * step, settled
                for place in range(member_starts[giver], member_starts[giver + 1]):
                    unit = members[place]
                    if of_unit[unit] == giver and not mine[unit]:
                        home = -1
                        for choice in range(choice_starts[unit], choice_starts[unit + 1]):
                            other = choices[choice]
                            if other != giver and size[other] >= least and taking[other] >= 0:
                                home = other
                                break
                        worth = worth + price[giver] - price[home] if home >= 0 else 0
                        if worth <= free * step:
                            break
                        homes[homeless] = home
                        homeless += 1
                if worth > free * step:
                    # The remaining units of a closed class have moved to a class that must now stay open.
                    taking[giver] = -1
                    gain += worth
                    taken += wanted[giver]
                    for place in range(settled, homeless):
                        needed[homes[place]] = True
                    settled = homeless
            if taking[giver] > 0:
                gain += free * step
                taken += free
        while taken < least and gain > 0:
            cheapest = -1
            for number in range(count):
                giver = givers[number]
                spare = price[giver] <= price[taker] and taking[giver] == 0 and size[giver] > least
                if spare and (cheapest < 0 or price[giver] > price[cheapest]):
                    cheapest = giver
            if cheapest < 0:
                break
            some = min(min(wanted[cheapest], size[cheapest] - least), least - taken)
            taking[cheapest] = some
            taken += some
            gain -= some * (price[taker] - price[cheapest])
        if gain > 0 and taken >= least:
            saved += gain
            for place in range(start, end):
                unit = members[place]
                giver = of_unit[unit]
                if giver != taker and taking[giver] != 0:
                    if taking[giver] > 0:
                        taking[giver] -= 1
                    size[giver] -= 1
                    of_unit[unit] = taker
                    size[taker] += 1
            for number in range(count):
                giver = givers[number]
                if taking[giver] == -1 and size[giver] > 0:
                    for place in range(member_starts[giver], member_starts[giver + 1]):
                        unit = members[place]
                        if of_unit[unit] == giver:
                            for choice in range(choice_starts[unit], choice_starts[unit + 1]):
                                other = choices[choice]
                                if size[other] >= least and taking[other] >= 0 and other != taker:
                                    of_unit[unit] = other
                                    size[other] += 1
                                    break
                    size[giver] = 0
        for number in range(count):
            wanted[givers[number]] = 0
            taking[givers[number]] = 0
        for place in range(settled):
            needed[homes[place]] = False
        for place in range(start, end):
            mine[members[place]] = False
    return saved


compiled_sweep = compiled(sweep)
