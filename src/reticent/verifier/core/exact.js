// Exact arithmetic: fractions of BigInts, and signs of sums of logarithms (docs/reference/release-format.md, section 10).
// No decision depends on rounding. A float computed first decides only if its rounding error cannot change the result.

export class Fraction {
  constructor(numerator, denominator = 1n) {
    if (denominator === 0n) throw new RangeError("a fraction over zero");
    if (denominator < 0n) [numerator, denominator] = [-numerator, -denominator];
    const common = gcd(numerator < 0n ? -numerator : numerator, denominator);
    this.n = common > 1n ? numerator / common : numerator;
    this.d = common > 1n ? denominator / common : denominator;
  }
  plus(other) { return new Fraction(this.n * other.d + other.n * this.d, this.d * other.d); }
  minus(other) { return new Fraction(this.n * other.d - other.n * this.d, this.d * other.d); }
  times(other) { return new Fraction(this.n * other.n, this.d * other.d); }
  over(other) { return new Fraction(this.n * other.d, this.d * other.n); }
  // Negative, zero or positive: this below, equal to or above the other.
  compare(other) {
    const [left, right] = [this.n * other.d, other.n * this.d];
    return left < right ? -1 : left > right ? 1 : 0;
  }
  floor() { return this.n >= 0n || this.n % this.d === 0n ? this.n / this.d : this.n / this.d - 1n; }
  ceil() { return -new Fraction(-this.n, this.d).floor(); }
  toString() { return this.d === 1n ? String(this.n) : `${this.n}/${this.d}`; }
}

export const ZERO = new Fraction(0n);
export const ONE = new Fraction(1n);

export function gcd(a, b) {
  while (b) [a, b] = [b, a % b];
  return a;
}

export const whole = (number) => new Fraction(BigInt(number));

// A parameter as it was written: 3, 0.6, "0.6", "2/3", "1e-5". A JSON number is read as its shortest decimal, never as a binary fraction.
export function exact(value) {
  if (value instanceof Fraction) return value;
  if (typeof value === "bigint") return new Fraction(value);
  if (typeof value !== "number" && typeof value !== "string") throw new TypeError("not a number");
  const text = String(value).trim();
  const ratio = /^([+-]?\d+)\/(\d+)$/.exec(text);
  if (ratio) return new Fraction(BigInt(ratio[1]), BigInt(ratio[2]));
  const decimal = /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d{1,4}))?$/.exec(text);
  if (!decimal || decimal[2] + decimal[3] === "") throw new TypeError(`${text} is not a number`);
  const digits = BigInt(decimal[2] + decimal[3]) * (decimal[1] === "-" ? -1n : 1n);
  const power = Number(decimal[4] ?? 0) - decimal[3].length;
  return power >= 0 ? new Fraction(digits * 10n ** BigInt(power)) : new Fraction(digits, 10n ** BigInt(-power));
}

// The sign of the sum of exponent * ln(base) over pairs [base, exponent] of BigInts, bases of at least 1 (section 10.2).
export function signOfLogarithms(terms) {
  let estimate = 0, size = 0;
  for (const [base, exponent] of terms) {
    const part = Number(exponent) * Math.log(Number(base));
    estimate += part;
    size += Math.abs(part);
  }
  // The relative rounding error of the sum is far below this.
  if (Number.isFinite(size) && Math.abs(estimate) > 1e-9 * size) return estimate > 0 ? 1 : -1;
  const powers = overCoprimeBases(terms);
  if (powers.length === 0) return 0;
  for (let bits = 128n; ; bits *= 2n) {
    let total = 0n, error = 0n;
    for (const [base, exponent] of powers) {
      const [logarithm, off] = fixedLogarithm(base, bits);
      total += exponent * logarithm;
      error += (exponent < 0n ? -exponent : exponent) * off;
    }
    if (total > error) return 1;
    if (total < -error) return -1;
  }
}

// The same product of powers over bases that share no factor: it is 1 only if nothing is left, by unique factorization.
function overCoprimeBases(terms) {
  const coprime = [], waiting = [...terms];
  while (waiting.length) {
    const [base, exponent] = waiting.pop();
    if (base === 1n || exponent === 0n) continue;
    const place = coprime.findIndex(([other]) => gcd(base, other) > 1n);
    if (place < 0) {
      coprime.push([base, exponent]);
      continue;
    }
    const [[other, power]] = coprime.splice(place, 1);
    const common = gcd(base, other);
    waiting.push([common, exponent + power], [base / common, exponent], [other / common, power]);
  }
  return coprime.filter(([, exponent]) => exponent !== 0n);
}

// ln(base) * 2^bits rounded, and a bound on its error. base = m * 2^e with 1 <= m < 2, and ln m = 2 artanh((m - 1) / (m + 1)).
function fixedLogarithm(base, bits) {
  const exponent = BigInt(base.toString(2).length - 1);
  const one = 1n << bits;
  const [mantissa, first] = artanhTwice(base - (1n << exponent), base + (1n << exponent), one);
  const [two, second] = artanhTwice(1n, 3n, one);
  return [mantissa + exponent * two, first + exponent * second];
}

// 2 artanh(n / d) * one for 0 <= n/d <= 1/3, with a bound on the error: every term and every division is off by less than 1.
function artanhTwice(n, d, one) {
  let power = (one * n) / d, sum = 0n, steps = 0n;
  const square = (one * n * n) / (d * d);
  for (let odd = 1n; power > 0n; odd += 2n) {
    sum += power / odd;
    power = (power * square) / one;
    steps += 1n;
  }
  return [2n * sum, 4n * (steps + 2n)];
}

// Whether value > ln(argument) for fractions, argument >= 1. The logarithm of a fraction other than 1 is irrational, so rising precision decides.
export function exceedsLogarithm(value, argument) {
  if (argument.compare(ONE) === 0) return value.n > 0n;
  for (let bits = 128n; ; bits *= 2n) {
    const [above, one] = fixedLogarithm(argument.n, bits);
    const [below, two] = fixedLogarithm(argument.d, bits);
    const difference = ((value.n << bits) / value.d) - (above - below);
    const error = one + two + 2n;
    if (difference > error) return true;
    if (difference < -error) return false;
  }
}
