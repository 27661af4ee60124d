/**
 * The statistics of results: 95 % intervals of shares, means and their differences, and the test of
 * sample sizes.
 *
 * - A share has the score interval of Wilson (1927). The difference of two has the hybrid score
 *   interval of Newcombe (1998, method 10). Both hold for small samples and for shares of 0 and 1.
 * - A mean has the interval of Student, the difference of two that of Welch (1947), which needs no
 *   equal variances.
 * - Pearson's chi-square test compares the sizes of samples with those that were meant.
 *
 * The distributions of Student and of chi-square are computed from the incomplete beta and gamma
 * functions (DLMF 8.17.22 and 8.9.2), to about 12 digits. Above `degreesExact` degrees of freedom
 * Student's quantile is the expansion of Abramowitz and Stegun, 26.7.5, with an error below 10^-10.
 */

export interface Interval {
  readonly low: number
  readonly high: number
}

/** How many of a sample have something. */
export interface Share {
  readonly n: number
  readonly hits: number
}

/** `squares`: the sum of the squares of the distances from the mean. */
export interface Sample {
  readonly n: number
  readonly mean: number
  readonly squares: number
}

export const noSample: Sample = { n: 0, mean: 0, squares: 0 }

/** The sample with one more value, by the method of Welford, which does not lose digits. */
export const withValue = ({ mean, n, squares }: Sample, value: number): Sample => {
  const distance = value - mean
  const after = mean + distance / (n + 1)
  return { n: n + 1, mean: after, squares: squares + distance * (value - after) }
}

/** The quantile of the normal distribution for 95 %. */
const z = 1.959963984540054

/** The score interval of Wilson. `undefined`: the sample is empty. */
export const wilson = ({ hits, n }: Share): Interval | undefined => {
  if (n === 0) return undefined
  const share = hits / n
  const middle = share + (z * z) / (2 * n)
  const half = z * Math.sqrt((share * (1 - share) + (z * z) / (4 * n)) / n)
  const whole = 1 + (z * z) / n
  return {
    low: hits === 0 ? 0 : (middle - half) / whole,
    high: hits === n ? 1 : (middle + half) / whole,
  }
}

/** The interval of Newcombe of the difference `of` − `from`. */
export const newcombe = (of: Share, from: Share): Interval | undefined => {
  const [one, other] = [wilson(of), wilson(from)]
  if (one === undefined || other === undefined) return undefined
  const [share, base] = [of.hits / of.n, from.hits / from.n]
  const difference = share - base
  return {
    low: difference - Math.hypot(share - one.low, other.high - base),
    high: difference + Math.hypot(one.high - share, base - other.low),
  }
}

/** The variance of a mean; `undefined`: the sample does not tell. */
const spreadOf = ({ n, squares }: Sample): number | undefined =>
  n < 2 ? undefined : squares / (n - 1) / n

/** The interval of Student of a mean. `undefined`: the sample has fewer than two values. */
export const studentInterval = (sample: Sample): Interval | undefined => {
  const spread = spreadOf(sample)
  if (spread === undefined) return undefined
  const half = studentQuantile(sample.n - 1) * Math.sqrt(spread)
  return { low: sample.mean - half, high: sample.mean + half }
}

/** The interval of Welch of the difference `of` − `from`. `undefined`: the samples do not tell. */
export const welch = (of: Sample, from: Sample): Interval | undefined => {
  const [one, other] = [spreadOf(of), spreadOf(from)]
  if (one === undefined || other === undefined || one + other === 0) return undefined
  const spread = one + other
  const degrees = spread ** 2 / (one ** 2 / (of.n - 1) + other ** 2 / (from.n - 1))
  const half = studentQuantile(degrees) * Math.sqrt(spread)
  const difference = of.mean - from.mean
  return { low: difference - half, high: difference + half }
}

/** Sizes of samples, and the weights by which they were meant. There are at least two. */
export const chiSquareTest = (
  sizes: ReadonlyArray<number>,
  weights: ReadonlyArray<number>,
): { readonly chiSquare: number; readonly p: number } => {
  const total = sizes.reduce((sum, size) => sum + size, 0)
  const whole = weights.reduce((sum, weight) => sum + weight, 0)
  if (total === 0) return { chiSquare: 0, p: 1 }
  let chiSquare = 0
  for (const [place, size] of sizes.entries()) {
    const meant = (total * weights[place]!) / whole
    chiSquare += (size - meant) ** 2 / meant
  }
  return { chiSquare, p: chiSquareTail(chiSquare, sizes.length - 1) }
}

/* Distributions. */

const degreesExact = 1_000

/** What a value of Student's distribution exceeds, on both sides, in 5 % of all cases. */
export const studentQuantile = (degrees: number): number => {
  if (degrees > degreesExact) {
    const first = (z ** 3 + z) / 4
    const second = (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96
    const third = (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384
    return z + first / degrees + second / degrees ** 2 + third / degrees ** 3
  }
  let low = 0
  let high = 2
  while (studentTails(high, degrees) > 0.05) high *= 2
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2
    if (studentTails(middle, degrees) > 0.05) low = middle
    else high = middle
  }
  return (low + high) / 2
}

/** The probability of a value farther from 0 than `t`. */
const studentTails = (t: number, degrees: number): number =>
  betaShare(degrees / (degrees + t * t), degrees / 2, 0.5)

/** The probability of a value above `x`. */
export const chiSquareTail = (x: number, degrees: number): number => {
  if (x <= 0) return 1
  const [a, half] = [degrees / 2, x / 2]
  const front = Math.exp(a * Math.log(half) - half - logGamma(a))
  if (half < a + 1) {
    let term = 1 / a
    let sum = term
    for (let n = 1; term > sum * precision; n++) {
      term *= half / (a + n)
      sum += term
    }
    return 1 - front * sum
  }
  const fraction = continued((n) => (n === 1 ? [1, half + 1 - a] : tail(n - 1, half, a)))
  return front * fraction
}

const tail = (n: number, half: number, a: number): readonly [number, number] => [
  -n * (n - a),
  half + 2 * n + 1 - a,
]

/** The regularised incomplete beta function. */
const betaShare = (x: number, a: number, b: number): number => {
  if (x <= 0) return 0
  if (x >= 1) return 1
  // The fraction converges fast below the mean.
  if (x > (a + 1) / (a + b + 2)) return 1 - betaShare(1 - x, b, a)
  const front = Math.exp(
    a * Math.log(x) + b * Math.log1p(-x) + logGamma(a + b) - logGamma(a) - logGamma(b),
  )
  const fraction = continued((n) => [n === 1 ? 1 : betaTerm(n - 1, x, a, b), 1])
  return (front / a) * fraction
}

const betaTerm = (n: number, x: number, a: number, b: number): number => {
  const m = Math.floor(n / 2)
  return n % 2 === 0
    ? (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m))
    : (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))
}

const precision = 1e-15
const tiny = 1e-300
const stepsMax = 10_000

/** The continued fraction with these numerators and denominators, by the method of Lentz. */
const continued = (partOf: (n: number) => readonly [above: number, below: number]): number => {
  let value = tiny
  let c = value
  let d = 0
  for (let n = 1; n <= stepsMax; n++) {
    const [above, below] = partOf(n)
    d = below + above * d
    c = below + above / c
    d = 1 / (d === 0 ? tiny : d)
    if (c === 0) c = tiny
    value *= c * d
    if (Math.abs(c * d - 1) < precision) break
  }
  return value
}

/** The logarithm of the gamma function of a positive number, by the series of Lanczos. */
const logGamma = (x: number): number => {
  const base = x + 6.5
  let sum = lanczos[0]!
  for (let n = 1; n < lanczos.length; n++) sum += lanczos[n]! / (x + n - 1)
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(base) - base + Math.log(sum)
}

const lanczos = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
  -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
  1.5056327351493116e-7,
]
