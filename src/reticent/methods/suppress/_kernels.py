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
    class_of_unit: Any,
    size: Any,
    least: int,
) -> Any:
    """Improve an assignment of units to classes: every class of ``order`` once takes units that cost more in their current
    class ('donor'), where that saves cost in all. Changes ``class_of_unit`` and ``size``; returns the cost saved.

    Class ``c`` may have the units ``members[member_starts[c]:member_starts[c + 1]]``, and a unit in it costs
    ``price[c]``. Unit ``u`` may go to the classes ``choices[choice_starts[u]:choice_starts[u + 1]]``, cheapest first,
    and is in ``of_unit[u]``. ``size[c]`` is the size of class ``c``, 0 if it is closed.

    A class that loses units keeps at least ``least``, or is closed, and its other units move to their cheapest open
    class, which then stays open. A new class with too few units also takes units that cost less in their current class,
    as long as there is a net saving.
    """
    units, classes = len(class_of_unit), len(price)
    wanted_count, lost_count = np.zeros(classes, dtype=np.int64), np.zeros(classes, dtype=np.int64)
    donors, homes = np.empty(classes, dtype=np.int64), np.empty(units, dtype=np.int64)
    must_stay, in_taker = np.zeros(classes, dtype=np.bool_), np.zeros(units, dtype=np.bool_)
    saved = 0
    for taker in order:
        start, end = member_starts[taker], member_starts[taker + 1]
        count = home_count = 0
        for index in range(start, end):
            in_taker[members[index]] = True
            donor = class_of_unit[members[index]]
            if donor != taker:
                if wanted_count[donor] == 0:
                    donors[count] = donor
                    count += 1
                wanted_count[donor] += 1
        saving, new_size = 0, size[taker]
        for number in range(count):
            donor = donors[number]
            unit_saving = price[donor] - price[taker]
            sparable = min(wanted_count[donor], size[donor] - least)
            lost_count[donor] = sparable if unit_saving > 0 else 0
            if unit_saving > 0 and wanted_count[donor] > sparable and not must_stay[donor]:
                closing_saving, new_home_count = wanted_count[donor] * unit_saving, home_count
                for index in range(member_starts[donor], member_starts[donor + 1]):
                    unit = members[index]
                    if class_of_unit[unit] == donor and not in_taker[unit]:
                        home = -1
                        for choice in range(choice_starts[unit], choice_starts[unit + 1]):
                            candidate = choices[choice]
                            if candidate != donor and size[candidate] >= least and lost_count[candidate] >= 0:
                                home = candidate
                                break
                        closing_saving = closing_saving + price[donor] - price[home] if home >= 0 else 0
                        if closing_saving <= sparable * unit_saving:
                            break
                        homes[new_home_count] = home
                        new_home_count += 1
                if closing_saving > sparable * unit_saving:
                    # The remaining units of a closed class have moved to a class that must now stay open.
                    lost_count[donor] = -1
                    saving += closing_saving
                    new_size += wanted_count[donor]
                    for index in range(home_count, new_home_count):
                        must_stay[homes[index]] = True
                    home_count = new_home_count
            if lost_count[donor] > 0:
                saving += sparable * unit_saving
                new_size += sparable
        while new_size < least and saving > 0:
            cheapest = -1
            for number in range(count):
                donor = donors[number]
                can_spare = price[donor] <= price[taker] and lost_count[donor] == 0 and size[donor] > least
                if can_spare and (cheapest < 0 or price[donor] > price[cheapest]):
                    cheapest = donor
            if cheapest < 0:
                break
            extra = min(min(wanted_count[cheapest], size[cheapest] - least), least - new_size)
            lost_count[cheapest] = extra
            new_size += extra
            saving -= extra * (price[taker] - price[cheapest])
        if saving > 0 and new_size >= least:
            saved += saving
            for index in range(start, end):
                unit = members[index]
                donor = class_of_unit[unit]
                if donor != taker and lost_count[donor] != 0:
                    if lost_count[donor] > 0:
                        lost_count[donor] -= 1
                    size[donor] -= 1
                    class_of_unit[unit] = taker
                    size[taker] += 1
            for number in range(count):
                donor = donors[number]
                if lost_count[donor] == -1 and size[donor] > 0:
                    for index in range(member_starts[donor], member_starts[donor + 1]):
                        unit = members[index]
                        if class_of_unit[unit] == donor:
                            for choice in range(choice_starts[unit], choice_starts[unit + 1]):
                                candidate = choices[choice]
                                if size[candidate] >= least and lost_count[candidate] >= 0 and candidate != taker:
                                    class_of_unit[unit] = candidate
                                    size[candidate] += 1
                                    break
                    size[donor] = 0
        for number in range(count):
            wanted_count[donors[number]] = 0
            lost_count[donors[number]] = 0
        for index in range(home_count):
            must_stay[homes[index]] = False
        for index in range(start, end):
            in_taker[members[index]] = False
    return saved


compiled_sweep = compiled(sweep)
