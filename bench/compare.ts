/** The changes from an earlier run beyond the spread of the rounds. */
import { type BenchLine, formatNumber } from "./Line.ts"

export interface Comparison {
  readonly question: string
  readonly unit: string
  readonly before: number
  readonly after: number
}

export interface Compared {
  /** The ranges of the rounds do not overlap. */
  readonly moved: ReadonlyArray<Comparison>
  readonly within: number
  /** In both runs, but with fewer than three rounds in one of them: too few to compare. */
  readonly unjudged: number
}

const roundsMin = 3

const rangeOf = (rounds: ReadonlyArray<number>) =>
  [Math.min(...rounds), Math.max(...rounds)] as const

/** Compares lines with the same question. */
export const compare = (
  before: ReadonlyArray<BenchLine>,
  after: ReadonlyArray<BenchLine>,
): Compared => {
  const earlier = new Map(before.map((line) => [line.question, line]))
  const moved: Array<Comparison> = []
  let within = 0
  let unjudged = 0
  for (const { question, rounds = [], unit, value } of after) {
    const line = earlier.get(question)
    if (line === undefined || !Number.isFinite(line.value) || !Number.isFinite(value)) continue
    const others = line.rounds ?? []
    if (rounds.length < roundsMin || others.length < roundsMin) {
      unjudged++
      continue
    }
    const [low, high] = rangeOf(rounds)
    const [lowBefore, highBefore] = rangeOf(others)
    if (low > highBefore || high < lowBefore) {
      moved.push({ question, unit, before: line.value, after: value })
    } else within++
  }
  return { moved, within, unjudged }
}

export const formatCompared = ({ moved, unjudged, within }: Compared): string =>
  [
    ...moved.map(({ after, before, question, unit }) => {
      const percent = before === 0 ? "" : `  ${((after / before - 1) * 100).toFixed(0)} %`
      return `${question.padEnd(74)}  ${formatNumber(before)} → ${formatNumber(after)} ${unit}${percent}`
    }),
    `${moved.length} moved beyond the spread of their rounds, ${within} did not, ${unjudged} had fewer than ${roundsMin} rounds.`,
  ].join("\n")
