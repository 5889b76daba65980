"""Critical rows, classes, containment and the errata of spec 000a."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reticent import views
from reticent.errors import PolicyError
from reticent.views.acyclic import contained_in_acyclic, is_acyclic
from reticent.views.budget import SearchBudget
from reticent.views.checker import Checker
from reticent.views.containment import answer_remains
from reticent.views.datalog import parse
from reticent.views.homomorphism import find_homomorphism, gather
from reticent.views.influence import critical_rows, is_critical
from reticent.views.integer_queries import Codebook, CodedQuery, encode
from reticent.views.query_classes import classify
from reticent.views.schema import Schema, table
from reticent.views.two_sat import NotApplicable, contained_by_two_sat
from reticent.views.unification import unify
from tests.oracles import views_queries as q
from tests.oracles.views_critical import critical_by_witness
from tests.sampling import campaign, examples

CANCER = "Q(n) :- P(p,n), D(p,'cancer',m,w)"


def _coded(text: str, schema: Schema | None = None) -> tuple[CodedQuery, Schema, Codebook]:
    known, (query,) = views.prepare([text], schema)
    book = Codebook()
    return encode(query, known, book)[0].disjuncts[0], known, book


@pytest.mark.parametrize(
    ("row", "critical"),
    [
        ("D(135,'cancer','RX2',2312)", True),  # GT-1
        ("D(135,'cancer','RX2',1212)", True),  # GT-2; the printed witness is none, {P(135,Daisy)} is
        ("D(123,'hepatitis','RX1',1212)", False),  # GT-3
        ("P(123,'John')", True),  # GT-4
    ],
)
def test_a_row_of_the_hospital_is_critical_to_the_cancer_patients(row: str, critical: bool) -> None:
    schema, (query,) = views.prepare([CANCER], None)
    assert is_critical(query, row, schema) is critical


@pytest.mark.parametrize(
    ("text", "row", "critical"),
    [
        ("Q() :- R(x,y), R(y,x)", "R(0,0)", True),  # GT-30
        ("Q(x) :- R(1,0), R(x,0), R(0,x)", "R(0,0)", True),  # GT-31
        ("Q() :- R(y,x), R(y,1), R(0,x)", "R(0,0)", True),  # GT-32
        ("Q() :- R(1,1,z), R(y,y,z), R(z,y,x)", "R(3,3,1)", False),  # GT-33
        ("Q() :- R(0,y), R(x,w), x != w", "R(1,0)", True),  # GT-41
    ],
)
def test_subsets_of_subgoals_are_all_tried(text: str, row: str, critical: bool) -> None:
    schema, (query,) = views.prepare([text], None)
    assert is_critical(query, row, schema) is critical


def test_the_printed_witness_of_example_2_2_is_none() -> None:
    """Erratum 5: SC(H) already holds Daisy, so adding her second row changes nothing."""
    hospital = frozenset(
        [
            *(("P", row) for row in ((123, "John"), (135, "Daisy"), (146, "Chris"))),
            *(("D", row) for row in ((135, 1, 2, 2312), (123, 0, 1, 1212), (135, 0, 1, 1212))),
        ]
    )
    query: q.Query = [(("n",), [("P", ("p", "n")), ("D", ("p", 1, "m", "w"))], [])]
    added = ("D", (135, 1, 2, 1212))
    assert q.answers(query, hospital) == q.answers(query, hospital | {added}) == {("Daisy",)}
    assert q.answers(query, frozenset({("P", (135, "Daisy"))})) != q.answers(
        query, frozenset({("P", (135, "Daisy")), added})
    )


def test_critical_rows_of_example_2_3_over_two_values() -> None:
    """GT-11: ten critical rows each; with suffix (1,0) they are disjoint."""
    domains = {"R": {place: [0, 1] for place in range(5)}}
    found = []
    for text in (
        "Q(a1,a2,a3) :- R(a1,a2,a3,b4,0), R(1,a2,a3,0,0), R(a1,0,0,0,0), R(a1,0,1,0,0)",
        "Q(a1,a2,a3) :- R(a1,a2,a3,1,b5), R(1,a2,a3,1,1), R(a1,1,0,1,1), R(a1,1,1,1,1)",
    ):
        schema, (query,) = views.prepare([text], None, domains=domains)
        rows = [tuple(number >> place & 1 for place in range(5)) for number in range(32)]
        found.append({row for row in rows if is_critical(query, f"R({','.join(map(str, row))})", schema)})
    assert [len(rows) for rows in found] == [10, 10]
    assert [{row[:3] for row in rows if row[3:] == (1, 0)} for rows in found] == [
        {(0, 1, 0), (0, 1, 1)},
        {(0, 0, 0), (0, 0, 1)},
    ]


S10 = "Q(a1,a2,a3) :- R(a1,a2,a3,b4,0), R(1,a2,a3,0,0), R(a1,0,0,0,0), R(a1,0,1,0,0)"
V10 = "Q(a1,a2,a3) :- R(a1,a2,a3,1,b5), R(1,a2,a3,1,1), R(a1,1,0,1,1), R(a1,1,1,1,1)"


@pytest.mark.parametrize(
    ("row", "secret", "view"),
    [
        ("R(1,x,y,1,0)", True, True),
        ("R(x,0,0,1,0)", True, False),
        ("R(x,0,1,1,0)", True, False),
        ("R(x,1,0,1,0)", False, True),
        ("R(x,1,1,1,0)", False, True),
        ("R(x,y,z,1,0)", False, False),
    ],
)
def test_residuals_of_the_first_subgoals_are_contained_where_the_thesis_says(
    row: str, secret: bool, view: bool
) -> None:
    """GT-12."""
    for text, expected in ((S10, secret), (V10, view)):
        query, known, book = _coded(text)
        other = encode(views.prepare([f"Q() :- {row}"], known)[1][0], known, book)[0].disjuncts[0].shifted(100)
        classes = unify([query.atoms[0], other.atoms[0]])
        assert classes is not None
        rest = gather((atom.relation, classes.apply(atom.terms)) for atom in query.atoms[1:])
        found = find_homomorphism(query, rest, classes.apply(query.head), SearchBudget())
        assert (found is not None) is expected


def test_the_corrected_instances_of_figure_2_5() -> None:
    """GT-14: the printed I_V gives an empty residual; these instances show what the figure means."""
    parts: list[tuple[q.Query, q.Query, list[str], tuple[int, ...]]] = []
    one = [
        (("a1", "a2", "a3"), [("R", t) for t in ((1, "a2", "a3", 0, 0), ("a1", 0, 0, 0, 0), ("a1", 0, 1, 0, 0))], [])
    ]
    two = [
        (("a1", "a2", "a3"), [("R", t) for t in ((1, "a2", "a3", 1, 1), ("a1", 1, 0, 1, 1), ("a1", 1, 1, 1, 1))], [])
    ]
    whole_one = [(one[0][0], [("R", ("a1", "a2", "a3", "b", 0)), *one[0][1]], [])]
    whole_two = [(two[0][0], [("R", ("a1", "a2", "a3", 1, "b")), *two[0][1]], [])]
    parts.append((one, whole_one, ["11100", "00000", "00100"], (0, 1, 1)))
    parts.append((two, whole_two, ["10011", "01011", "01111"], (0, 0, 0)))
    for residual, whole, rows, answer in parts:
        instance = frozenset(("R", tuple(map(int, row))) for row in rows)
        assert answer in q.answers(residual, instance)
        assert not q.answers(whole, instance)


def test_figure_2_7_unifies_to_one_row() -> None:
    """GT-17: rows 1 and 2 of a simple tableau; the residual is simple again."""
    text = "Q() :- R(b1,b2,'c3'), R('c1',b2',b3), R('d1',b2'',b3'), R(b1','d2','e3'), R('e1',b2',b3''), R(b1,'e2',b3'')"
    query, schema, book = _coded(text)
    classes = unify([query.atoms[0], query.atoms[1]])
    assert classes is not None
    row = classes.apply(query.atoms[0].terms)
    assert [str(book.constant(code)) if code < 0 else None for code in row] == ["'c1'", None, "'c3'"]
    rest = [classes.apply(atom.terms) for atom in query.atoms[2:]]
    assert rest[2][1] == row[1]
    assert str(book.constant(rest[3][0])) == "'c1'"
    assert classify(query, schema).simple_tableau


@pytest.mark.parametrize(
    ("text", "has", "lacks"),
    [
        (
            "Q(n) :- P(p,n), D(p,'Hepatitis',b1), D(p,'Cancer',b2)",
            {"tableau", "simple tableau", "maximal-row tableau", "at most one self-join", "acyclic"},
            {"no self-joins"},
        ),  # GT-16
        ("Q(a1,a2) :- R(a1,b1,b2), S(a2,b2), T(a1,b1,b2)", {"no self-joins", "acyclic"}, {"tableau"}),  # GT-18
        ("Q(a1,a2) :- R(a1,b1,0), R(a2,b2,1), T(2,b2,b3)", {"maximal-row tableau"}, {"no self-joins"}),  # GT-19
        (
            "Q(a1,a2) :- R(a1,b1,b2), R(a2,b1,b3), S(a1,b2,b3), S(a2,b1,b3)",
            {"at most one self-join"},
            {"acyclic", "no self-joins"},
        ),  # GT-20
        (
            "Q(a1,a2) :- R(a1,b2,b3), R(a2,b2,b4), R(a1,b2',b3), R(a2,b2'',b5)",
            {"simple tableau"},
            {"maximal-row tableau"},
        ),  # GT-21
        ("Q(a1,a2) :- R(a1,b2,b3), R(a2,b3,b4), R(a1,b5,b6)", {"acyclic"}, {"tableau"}),  # GT-22
        (
            "Q(a1,a2) :- R(a1,b3,b1), R(a2,b4,b1), R(a1,b5,b2), R(a2,b6,b2)",
            {"acyclic without head", "width 2"},
            {"acyclic"},
        ),  # GT-23
    ],
)
def test_queries_are_classified(text: str, has: set[str], lacks: set[str]) -> None:
    query, schema, _ = _coded(text)
    names = set(classify(query, schema).names())
    assert has <= names
    assert not lacks & names


def _colouring(edges: list[tuple[int, int]]) -> tuple[str, str]:
    """GT-45: N_u(b_e,u ...) and E_e(b_e,u, b_e,v), against all colours; columns are named apart by relation."""
    nodes = sorted({node for edge in edges for node in edge})
    rows = [f"N{u}({','.join(f'b{n}_{u}' for n, e in enumerate(edges) if u in e)})" for u in nodes]
    rows += [f"E{n}(b{n}_{u},b{n}_{v})" for n, (u, v) in enumerate(edges)]
    facts = [f"N{u}({','.join(str(c) for e in edges if u in e)})" for u in nodes for c in range(3)]
    facts += [f"E{n}({a},{b})" for n in range(len(edges)) for a in range(3) for b in range(3) if a != b]
    return f"Q() :- {', '.join(rows)}", f"Q() :- {', '.join(facts)}"


@pytest.mark.parametrize(("size", "colourable"), [(3, True), (4, False)])
def test_simple_tableau_containment_is_as_hard_as_colouring(size: int, colourable: bool) -> None:
    """GT-45: so Theorem 2.13, as the thesis quotes it, cannot hold unless P = NP."""
    containing, contained = _colouring([(a, b) for a in range(size) for b in range(a + 1, size)])
    schema, queries = views.prepare([containing, contained], None, names=["graph", "colours"])
    book = Codebook()
    graph, colours = (encode(query, schema, book)[0].disjuncts[0] for query in queries)
    facts = gather((atom.relation, atom.terms) for atom in colours.atoms)
    if size == 3:
        # One column per (edge, node): no column of the graph's tableau repeats anything but one variable.
        names = {f"n{u}": [f"b{n}_{u}" for n, e in enumerate([(0, 1), (0, 2), (1, 2)]) if u in e] for u in range(3)}
        edges = {f"e{n}": [f"b{n}_{u}", f"b{n}_{v}"] for n, (u, v) in enumerate([(0, 1), (0, 2), (1, 2)])}
        named = Schema({name: table(name.upper(), columns) for name, columns in (names | edges).items()})
        assert classify(graph, named).simple_tableau
    assert (find_homomorphism(graph, facts, (), SearchBudget()) is not None) is colourable


def _random_containment(seed: int) -> tuple[CodedQuery, dict[str, list[tuple[int, ...]]], tuple[int, ...]]:
    """A query, and facts to look for it in, as they come up when rows are removed."""
    rng = random.Random(seed)
    width = {"R": 2, "S": 2, "T": 1}
    query = q.random_query(rng, relations=width, atoms=6, names=5, constants=[0, 1], variable_share=0.8)
    coded, _, _ = _coded(q.text(query))
    values = [-2, -3, *range(3)]
    facts = gather(
        (name, tuple(rng.choice(values) for _ in range(width[name])))
        for name in rng.choices("RST", k=rng.randint(2, 9))
    )
    return coded, facts, tuple(rng.choice(values) if code >= 0 else code for code in coded.head)


@examples(300)
@given(st.integers(0, 10**6))
def test_the_acyclic_and_two_sat_ways_equal_the_generic_search(seed: int) -> None:
    query, facts, head = _random_containment(seed)
    generic = find_homomorphism(query, facts, head, SearchBudget())
    if is_acyclic(query, query.head):
        _same(contained_in_acyclic(query, facts, head), generic, query, facts, head)
    try:
        found = contained_by_two_sat(query, facts, head)
    except NotApplicable:
        return
    _same(found, generic, query, facts, head)


def _same(
    found: list[tuple[int, ...]] | None,
    generic: list[tuple[int, ...]] | None,
    query: CodedQuery,
    facts: dict[str, list[tuple[int, ...]]],
    head: tuple[int, ...],
) -> None:
    assert (found is None) == (generic is None)
    if found is not None:
        image: dict[int, int] = {}
        for atom, row in zip(query.atoms, found, strict=True):
            assert row in facts[atom.relation]
            for term, value in zip(atom.terms, row, strict=True):
                assert (term if term < 0 else image.setdefault(term, value)) == value
        assert tuple(term if term < 0 else image[term] for term in query.head) == head


def test_both_cheap_ways_are_really_tried() -> None:
    tried = {"acyclic": 0, "two_sat": 0}
    for seed in range(300):
        query, facts, head = _random_containment(seed)
        tried["acyclic"] += is_acyclic(query, query.head)
        try:
            tried["two_sat"] += contained_by_two_sat(query, facts, head) is not None
        except NotApplicable:
            continue
    assert all(count > 20 for count in tried.values())


def test_long_queries_take_a_cheap_way_and_agree() -> None:
    chain = ", ".join(f"R(x{n},x{n + 1})" for n in range(12))
    schema, (query,) = views.prepare([f"Q(x0) :- {chain}"], None)
    (union,) = encode(query, schema, Codebook())
    coded = union.disjuncts[0]
    facts = gather((atom.relation, atom.terms) for atom in coded.atoms)
    for fast in (True, False):
        assert answer_remains(union, facts, coded.head, SearchBudget(), fast=fast) is not None
        assert answer_remains(union, {"R": facts["R"][:5]}, coded.head, SearchBudget(), fast=fast) is None


@examples(60)
@given(st.integers(0, 10**6))
def test_critical_patterns_cover_exactly_the_critical_rows(seed: int) -> None:
    rng = random.Random(seed)
    query = q.random_query(rng, relations={"R": 2}, atoms=4, names=3, constants=[0, 1], variable_share=0.5)
    schema, (prepared,) = views.prepare([q.text(query)], None)
    domains = q.large_domain([query], {"R": 2}, ordered=False)
    expected = critical_by_witness(query, domains)
    patterns = [parse(f"Q() :- {item.text}").parts[0].disjuncts[0].body[0] for item in critical_rows(prepared, schema)]
    for first in domains["R", 0]:
        for second in domains["R", 1]:
            row = (first, second)
            critical = ("R", row) in expected
            assert is_critical(prepared, f"R({first},{second})", schema) is critical
            if critical:
                assert any(_has_shape(row, pattern.terms) for pattern in patterns)


def _has_shape(row: tuple[int, int], terms: tuple[object, ...]) -> bool:
    image: dict[object, int] = {}
    return all(
        value == (term.value if hasattr(term, "value") else image.setdefault(term, value))
        for term, value in zip(terms, row, strict=True)
    )


def test_minimisation_does_not_change_verdicts_and_shortens_queries() -> None:
    from reticent.views.query_core import minimized

    schema, (query,) = views.prepare(["Q(x) :- R(x,y), R(x,z), R(x,1)"], None)
    assert [str(atom) for atom in minimized(query, schema, SearchBudget()).parts[0].disjuncts[0].body] == ["R(x,1)"]


def test_a_hard_pair_is_cut_off_with_its_reason() -> None:
    """A budget that runs out is UNKNOWN, never a verdict."""
    rng = random.Random(3)
    edges = sorted({tuple(sorted(rng.sample(range(40), 2))) for _ in range(92)})
    graph = ", ".join(f"E(v{a},v{b})" for a, b in edges)
    colours = ", ".join(f"E({a},{b})" for a in range(3) for b in range(3) if a != b)
    verdict = views.check(f"Q() :- {graph}, {colours}, E(z,z)", "Q(x) :- E(x,y)", nodes=5_000)
    assert verdict.status == "UNKNOWN"
    assert "5000 nodes" in verdict.reason
    late = views.check(f"Q() :- {graph}, {colours}, E(z,z)", "Q(x) :- E(x,y)", seconds=0.2)
    assert late.status == "UNKNOWN"
    assert "0.2 s" in late.reason


def test_many_interchangeable_subgoals_do_not_fill_the_memory() -> None:
    body = ", ".join(f"R(x{n},y{n},z{n})" for n in range(40))
    head = ",".join(f"x{n},y{n}" for n in range(40))
    verdict = views.check(f"Q({head}) :- {body}, S(x0)", "Q(x) :- R(x,1,1), R(x,1,2), T(x)", seconds=20)
    assert verdict.status in ("DISCLOSES", "UNKNOWN")


@pytest.mark.parametrize("view", ["Q() :- R(1,-2)", "Q(x) :- R(x,y)"])
def test_a_query_of_hundreds_of_subgoals_is_judged_in_its_time(view: str) -> None:
    body = ", ".join(f"R(x{number},{number})" for number in range(300 if campaign() else 150))
    verdict = views.check(f"Q() :- {body}", view)
    assert verdict.status == ("PRIVATE" if "-2" in view else "DISCLOSES")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "Q(x) :- R(y)",
            "The head variable x occurs in no subgoal of the query; add a subgoal with it, at line 1, column 1",
        ),
        ("Q(x) :- R(x), y < 3", "variable y"),
        ("Q(x) :- R(x,", "Expected a variable"),
        ("Q(x) :- R(x) S(x)", "Expected ':-'"),
        ("Q(x) :- R(x).\nP(x) :- R(x)", "one head, at line 2, column 1"),
        ("Q(x) :- R(x) Q(x,y) :- R(x), R(y)", "different lengths"),
        ("Q(x) :- R(x) ? S(x)", "Cannot read '?', at line 1, column 14"),
        ("Q(x) :- R(x), R(x,y)", "one number of columns"),
    ],
)
def test_datalog_that_makes_no_sense_is_refused_where_it_stands(text: str, words: str) -> None:
    with pytest.raises(PolicyError, match=re.escape(words)):
        views.check(text, "V(x) :- R(x)")


def test_keys_and_domains_that_make_no_sense_are_refused() -> None:
    pair = ("Q(x) :- R(x,y)", "Q(y) :- R(x,y)")
    for options, words in (
        ({"keys": {"R": [[5]]}}, "columns 0..1"),
        ({"domains": {"R": {0: []}}}, "empty"),
        ({"domains": {"R": {0: "ab"}}}, "list of values"),
        ({"key_mode": "loose"}, "key_mode"),
    ):
        with pytest.raises(PolicyError, match=re.escape(words)):
            views.check(*pair, **options)  # type: ignore[arg-type]


def test_keys_of_tables_that_no_query_reads_do_not_matter_without_a_schema() -> None:
    pair = ("Q(x) :- R(x,1)", "Q(x) :- R(x,2)")
    assert views.check(*pair, keys={"T": [[0]]}).status == "PRIVATE"
    with pytest.raises(PolicyError, match="no table 'T'"):
        views.check(*pair, schema=Schema({"r": table("R", ["a", "b"])}), keys={"T": [[0]]})


def test_a_witness_replays_again() -> None:
    witness = views.check("S(x) :- R(x,y)", "V(y) :- R(x,y)").witness
    assert witness is not None
    assert witness.replay()


@examples(80)
@given(st.integers(0, 10**6))
def test_a_finite_domain_with_room_for_both_queries_counts_as_large(seed: int) -> None:
    """|D| >= constants of both queries + the larger number of variables."""
    rng = random.Random(seed)
    pair = [
        q.random_query(rng, relations={"R": 2}, atoms=3, names=3, constants=[0, 1], variable_share=0.5) for _ in (0, 1)
    ]
    texts = [q.text(query) for query in pair]
    roomy = {"R": {0: [0, 1, 5, 6, 7], 1: [0, 1, 5, 6, 7]}}
    assert views.check(*texts, domains=roomy).status == views.check(*texts).status


def test_keys_by_name_and_by_position_mean_the_same() -> None:
    schema = Schema({"r": table("R", ["id", "value"])})
    for label in (0, "id"):
        verdict = views.check("Q(p) :- R(p,1)", "Q(p) :- R(p,2)", schema=schema, keys={"R": [[label]]})
        assert verdict.status == "DISCLOSES"
        assert verdict.witness is not None
        assert verdict.witness.row[0] == verdict.witness.view_row[0]
        assert verdict.witness.row[1] != verdict.witness.view_row[1]


def test_the_checker_remembers_each_query_once() -> None:
    schema, queries = views.prepare(["Q(x) :- R(x,0)", "Q(x) :- R(1,x)", "Q(x) :- R(2,x)"], None)
    checker = Checker(schema)
    assert checker.check(queries[0], queries[1]).status == "DISCLOSES"
    signature = checker.signatures(queries[0], SearchBudget())
    assert checker.check(queries[0], queries[2]).status == "DISCLOSES"
    assert checker.signatures(queries[0], SearchBudget()) is signature
