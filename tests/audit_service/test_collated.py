"""PostgreSQL finds texts equal in its own ways and hides rows from roles: the rows that are decided on are the rows that are answered."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from reticent.errors import DataError
from tests.audit_service.conftest import POLICY, Place
from tests.audit_service.test_asking import values

pytestmark = pytest.mark.xdist_group("postgres")


@pytest.mark.parametrize("kind", ["citext", "text COLLATE ignoring_case"])
def test_conditions_mean_exact_texts_whatever_the_collation_finds_equal(
    kind: str, make_place: Callable[..., Place]
) -> None:
    place = make_place("postgres").fill()
    place.run("CREATE EXTENSION IF NOT EXISTS citext")
    place.run(
        "CREATE COLLATION IF NOT EXISTS ignoring_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
    )
    place.run(f"ALTER TABLE staff ALTER department TYPE {kind}")
    place.run("UPDATE staff SET department = 'Sales' WHERE id <= 2")
    answered = place.service().ask("SELECT SUM(salary) FROM staff WHERE department = 'Sales'")
    assert values(answered) == [3000 + 4100]


@pytest.mark.parametrize("kind", ["citext", "text COLLATE ignoring_case", "text"])
def test_people_whose_keys_the_collation_finds_equal_are_not_mixed_up(
    kind: str, make_place: Callable[..., Place]
) -> None:
    place = make_place("postgres").fill()
    place.run("CREATE EXTENSION IF NOT EXISTS citext")
    place.run(
        "CREATE COLLATION IF NOT EXISTS ignoring_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
    )
    place.run(
        f"ALTER TABLE staff ALTER id TYPE {kind} USING CASE WHEN id = 1 THEN 'a' WHEN id = 2 THEN 'A' ELSE id::text END"
    )
    place.run("UPDATE staff SET department = 'one' WHERE id::text COLLATE \"C\" IN ('a', '3')")
    service, question = place.service(), "SELECT SUM(salary) FROM staff WHERE department = 'one'"
    if "COLLATE" in kind:
        with pytest.raises(DataError, match="Nothing was answered"):
            service.ask(question)
    else:
        assert values(service.ask(question)) == [3000 + 2800]


def test_a_table_of_which_row_security_hides_a_part_is_not_audited(make_place: Callable[..., Place]) -> None:
    """Which rows a policy hides may change without any change of the table, so nothing would be known about what was answered."""
    place = make_place("postgres").fill()
    for statement in (
        "DROP ROLE IF EXISTS audited_reader",
        "CREATE ROLE audited_reader LOGIN",
        "GRANT SELECT ON staff TO audited_reader",
        "CREATE POLICY mine ON staff FOR SELECT USING (age > extract(second FROM clock_timestamp()) - 60)",
        "ALTER TABLE staff ENABLE ROW LEVEL SECURITY",
    ):
        place.run(statement)
    owner, place.url = place.url, str(place.url).replace("steward@", "audited_reader@")
    try:
        with pytest.raises(DataError, match="row-level security"):
            place.service(POLICY).ask("SELECT SUM(salary) FROM staff WHERE department = 'sales'")
    finally:
        place.url = owner
        place.run("DROP POLICY mine ON staff")
        place.run("DROP OWNED BY audited_reader")
        place.run("DROP ROLE audited_reader")
    assert values(place.service(POLICY).ask("SELECT SUM(salary) FROM staff WHERE department = 'sales'")) == [15100]
