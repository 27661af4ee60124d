/**
 * The intervals of results in another way than the server computes them: the interval of Wilson from
 * its definition, by bisection, and Student's distribution by a sum over its density.
 */

const z = 1.959963984540054

export type Bounds = readonly [low: number, high: number]

/** Where a function changes its sign from `low` to `high`. */
const zeroOf = (of: (x: number) => number, low: number, high: number): number => {
  let [from, to] = [low, high]
  const sign = Math.sign(of(from))
  for (let step = 0; step < 200; step++) {
    const middle = (from + to) / 2
    if (Math.sign(of(middle)) === sign) from = middle
    else to = middle
  }
  return (from + to) / 2
}

/** The shares from which the observed one is not farther than z of their own deviations. */
export const wilsonOf = (hits: number, n: number): Bounds => {
  const observed = hits / n
  const excess = (of: number) => (observed - of) ** 2 - (z * z * of * (1 - of)) / n
  const low = hits === 0 ? 0 : zeroOf(excess, 0, observed)
  return [low, hits === n ? 1 : zeroOf(excess, 1, observed)]
}

const meanOf = (values: ReadonlyArray<number>): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

export const newcombeOf = (of: ReadonlyArray<number>, from: ReadonlyArray<number>): Bounds => {
  const [one, other] = [meanOf(of), meanOf(from)]
  const [low, high] = wilsonOf(Math.round(one * of.length), of.length)
  const [lowFrom, highFrom] = wilsonOf(Math.round(other * from.length), from.length)
  return [
    one - other - Math.sqrt((one - low) ** 2 + (highFrom - other) ** 2),
    one - other + Math.sqrt((high - one) ** 2 + (other - lowFrom) ** 2),
  ]
}

/** Simpson's rule. */
const integralOf = (of: (x: number) => number, from: number, to: number): number => {
  const parts = 4_000
  const width = (to - from) / parts
  let sum = of(from) + of(to)
  for (let n = 1; n < parts; n++) sum += of(from + n * width) * (n % 2 === 1 ? 4 : 2)
  return (sum * width) / 3
}

/** The quantile of Student's distribution for 95 %, by its density in the angle t = √ν tan θ. */
export const quantileOf = (degrees: number): number => {
  // Beyond 1 / 60 of the width of the peak at 0 the density of many degrees is nothing.
  const power = (angle: number) => Math.cos(angle) ** (degrees - 1)
  const half = integralOf(power, 0, Math.min(Math.PI / 2, 60 / Math.sqrt(degrees)))
  const inside = (t: number) =>
    integralOf(power, 0, Math.atan(t / Math.sqrt(degrees))) / half - 0.95
  return zeroOf(inside, 0, 20)
}

export const welchOf = (of: ReadonlyArray<number>, from: ReadonlyArray<number>): Bounds => {
  const spreadOf = (values: ReadonlyArray<number>) => {
    const mean = meanOf(values)
    const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0)
    return squares / (values.length - 1) / values.length
  }
  const [one, other] = [spreadOf(of), spreadOf(from)]
  const degrees = (one + other) ** 2 / (one ** 2 / (of.length - 1) + other ** 2 / (from.length - 1))
  const difference = meanOf(of) - meanOf(from)
  const half = quantileOf(degrees) * Math.sqrt(one + other)
  return [difference - half, difference + half]
}

/** The share of the chi-square distribution of one degree above `x`. */
export const oneDegreeTail = (x: number): number =>
  (2 * integralOf((t) => Math.exp((-t * t) / 2), Math.sqrt(x), Math.sqrt(x) + 12)) /
  Math.sqrt(2 * Math.PI)
