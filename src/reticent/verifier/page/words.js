// What a claim guarantees and what it does not, in plain words. They are the verifier's own, generated from the checked definition: sentences from the release are never shown.

import { PLAN_DEFINITIONS } from "../core/plans.js";

const percent = (fraction) => {
  const share = (100 * Number(fraction.n)) / Number(fraction.d);
  return Number.isInteger(share) ? `${share} %` : `${fraction} (${share.toFixed(1)} %)`;
};
const below = (c) => percent(c.over(c.plus({ n: c.d, d: c.d })));
const values = (list) => list.map((each) => (each === null ? "(missing)" : `"${each}"`)).join(", ");

// [the most that an adversary achieves, what is not covered]; `of` names the confidential column.
const SENTENCES = {
  KAnonymity: (p) => [`finds at least ${p.k} matching records`, "Records that look alike may share a confidential value, which is then known of all of them."],
  DistinctLDiversity: (p, of) => [`cannot narrow ${of} to fewer than ${p.l} values`, "How likely the most frequent of these values is, is not bounded."],
  ProbabilisticLDiversity: (p, of) => [`is right about ${of} for at most ${percent(p.l.over(p.l).over(p.l))} of the records that look alike`, "An adversary who can rule out values may be right more often."],
  EntropyLDiversity: (p, of) => [`finds ${of} as open, measured by entropy, as ${p.l} equally likely values`, "Entropy is an average: a single value may be likelier."],
  RecursiveLDiversity: (p, of) => [`is less than ${below(p.c)} sure of ${of}, even after ruling out ${Math.max(p.l - 2, 0)} values`, "An adversary who can rule out more values is not covered."],
  NegativePositiveDiversity: (p, of) => [`is less than ${below(p.c1)} sure of ${of}, even after ruling out ${Math.max(p.l - 2, 0)} values, and cannot rule out ${values(p.must_keep)}`, "An adversary who can rule out more values is not covered."],
  WorstCaseKnowledge: (p, of) => [`and any ${p.k} facts of the form "if these people have those values, then one of those has one of those", is less than ${percent(p.c)} sure of anyone's ${of}`, "Knowledge that is only likely, and correlations between people, are not covered."],
  NegatedKnowledge: (p, of) => [`and can rule out any ${p.k} values of people, is less than ${percent(p.c)} sure of anyone's ${of}`, "Facts that link people can disclose more."],
  TCloseness: (p, of) => [`finds the values of ${of} distributed as in the whole table, up to a distance of ${p.t}`, "What holds for the whole table is not hidden."],
  NTCloseness: (p, of) => [`finds the values of ${of} among fewer than ${p.n} records that look alike distributed as in the whole table, up to a distance of ${p.t}`, `What ${p.n} or more records that look alike have in common is not hidden.`],
  AlphaKAnonymity: (p, of) => [`finds at least ${p.k} matching records, and is right about ${of} for at most ${percent(p.alpha)} of them`, "An adversary who can rule out values may be right more often."],
  PSensitive: (p, of) => [`finds at least ${p.k} matching records with at least ${p.p} values of ${of}`, "How likely the most frequent of these values is, is not bounded."],
  LAlphaDiversity: (p, of) => [`cannot narrow ${of} to fewer than ${p.l} values, which together weigh at least ${p.alpha}`, "How likely each of these values is, is not bounded."],
  ConfidenceBounding: (p, of) => [`is right to conclude that ${of} is ${values(p.values)} for at most ${percent(p.h)} of the records that look alike`, "Other values are not protected."],
  CategoryDiversity: (p, of) => [`is less than ${percent(p.c)} sure that ${of} is in any one of ${p.categories.length} categories`, "Only the listed categories are protected."],
  RangeDiversity: (p, of) => [`is less than ${percent(p.c)} sure that ${of} lies in any range of length ${p.below.plus(p.above)}`, "Wider ranges are not covered."],
  KEAnonymity: (p, of) => [`cannot narrow ${of} to fewer than ${p.k} numbers, nor to a range shorter than ${p.e}`, "Nearly all of these numbers may be close together."],
  EpsilonMAnonymity: (p, of) => [`is right for at most 1 in ${p.m} of the records that look alike to say that ${of} is within ${p.epsilon} of a number that occurs among them`, "Ranges around other numbers are not covered."],
  BetaLikeness: (p, of) => [`finds no value of ${of} more than ${p.beta.plus({ n: p.beta.d, d: p.beta.d })} times as frequent among records that look alike as in the whole table`, "That a value is rarer, or absent, is not hidden."],
  DeltaDisclosure: (p, of) => [`finds each value of ${of} that occurs among records that look alike less than 2^${p.delta} times more or less frequent there than in the whole table`, "Values that are absent can be ruled out."],
  MUnique: (p, of) => [`sees at least ${p.m} different values of ${of}, each of them once`, "An adversary who compares several releases is not covered."],
  MEligible: (p, of) => [`is right about ${of} for at most 1 in ${p.m} of the records that look alike`, "An adversary who can rule out values may be right more often."],
  XYPrivacy: (p, of) => [`cannot narrow ${p.y ? p.y.join(" and ") : of} to fewer than ${p.k} values, and is right about it for at most ${percent(p.h)} of the records that look alike`, "An adversary who can rule out values may be right more often."],
  KMap: (p) => [`and the same of everyone in the population finds at least ${p.k} people of it who match each record`, "An adversary who knows that a person is in the table finds the person's group. The guarantee holds for the population that you supplied."],
  DeltaPresence: (p) => [`and the same of everyone in the population is at least ${percent(p.low)} and at most ${percent(p.high)} sure that a person who matches a published record is in the table`, "The guarantee holds for the population that you supplied."],
  AverageRisk: (p) => [`and picks a record for everyone is right for at most ${percent(p.limit)} of them`, "A bound on the average protects no one in particular: single people may be unique."],
};

export function guarantee(definition, facts) {
  const { name, p } = definition;
  if (Object.hasOwn(PLAN_DEFINITIONS, name)) return [PLAN_DEFINITIONS[name].words(p)];
  if (definition.m) return [`In every release each group shows at least ${definition.m} different values, each of them once.`];
  if (name === "AnyColumns") return p.inner.map((each) => sentence(each, facts, `any ${p.known} of ${facts.quasi.join(", ")}`));
  if (name === "InTurn") return p.columns.flatMap((column) => p.inner.map((each) => sentence(each, { ...facts, sensitive: [column] }, facts.quasi.filter((other) => other !== column).join(", "))));
  const known = definition.quasi ?? null;
  return [sentence(definition, facts, known ? known.join(", ") : facts.sets ? `the columns of one of these sets: ${facts.sets.map((set) => set.join(", ")).join("; ")},` : facts.quasi.join(", ") || "nothing")];
}

function sentence(definition, facts, known) {
  const of = definition.column ?? facts.sensitive.join(" or ");
  return `An adversary who knows ${known} of a person ${SENTENCES[definition.name](definition.p, of)[0]}.`;
}

export function leftOpen(definition) {
  if (Object.hasOwn(PLAN_DEFINITIONS, definition.name)) return [PLAN_DEFINITIONS[definition.name].open];
  if (definition.m) return ["That people keep the values of their group from release to release is only stated by the publisher: who is in which group is not public."];
  const inner = definition.isWrapper ? definition.p.inner : [definition];
  const more = definition.name === "AnyColumns" ? [`An adversary who knows more than ${definition.p.known} columns may find fewer records or learn more.`] : [];
  return [...more, ...inner.map((each) => SENTENCES[each.name]?.(each.p, "a value")[1] ?? "")];
}

export const ALWAYS = [
  "An adversary who knows that a person is in the table finds the person's group: membership in the table is not hidden.",
  "Other data about the same people, earlier and later releases among them, were not judged together with this one.",
];
