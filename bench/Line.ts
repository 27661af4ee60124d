/** One question of a bench, beside a reference measured in the same run. */
export interface BenchLine {
  readonly question: string
  /** NaN: unknown. */
  readonly value: number
  readonly unit: string
  readonly reference?: { readonly name: string; readonly value: number; readonly unit: string }
  /** `value` divided by the reference's value. */
  readonly ratio?: number
  /** The goal, as text. */
  readonly goal?: string
  /** The values of other programs, in the same unit. */
  readonly others?: ReadonlyArray<{ readonly name: string; readonly value: number }>
  /** The values of all rounds; `value` is their median. */
  readonly rounds?: ReadonlyArray<number>
  /** Pairs of an upper bound and the number of replies, for each program. */
  readonly histograms?: Readonly<Record<string, Histogram>>
  /** The points of a chart of the page. */
  readonly points?: ReadonlyArray<Point>
}

export type Histogram = ReadonlyArray<readonly [microseconds: number, count: number]>

/** A point of a line of a chart. */
export interface Point {
  readonly chart: string
  readonly line: string
  readonly x: number
  readonly y: number
}

/** Makes the lines of a bench: a value beside that of the reference `name`, in the same unit. */
export const comparing =
  (bench: string, name: string) =>
  (question: string, unit: string, value: number, reference: number, goal?: string): BenchLine => ({
    question: `${bench}: ${question}`,
    value,
    unit,
    reference: { name, value: reference, unit },
    ...(reference > 0 && { ratio: value / reference }),
    ...(goal !== undefined && { goal }),
  })

/**
 * A number for people: grouped thousands, at least three significant digits. `unknown`: it could
 * not be measured here; in JSON it is null.
 */
export const formatNumber = (value: number): string =>
  Number.isFinite(value)
    ? value.toLocaleString(
        "en-US",
        value < 100 ? { maximumSignificantDigits: 3 } : { maximumFractionDigits: 0 },
      )
    : "unknown"

/** Explanations of lines whose question does not suffice. */
export const notesOf = (lines: ReadonlyArray<BenchLine>): ReadonlyArray<string> =>
  lines.some(({ question }) => question.endsWith(": refused, broken or not sent"))
    ? [
        "refused, broken or not sent: the share of the events due that got no good reply: refused by the server, their connection broke, or",
        "all connections of the open loop waited for replies when the event was due. At rates above what a program reaches it is high.",
      ]
    : []

const formatRatio = (ratio: number): string => `${ratio.toPrecision(ratio < 10 ? 2 : 3)}×`

/** One line of text with aligned columns: question, value, ratio and reference, goal. */
export const formatLine = (line: BenchLine): string => {
  const columns = [
    line.question.padEnd(74),
    `${formatNumber(line.value)} ${line.unit}`.padStart(20),
  ]
  if (line.reference !== undefined) {
    const { name, value, unit } = line.reference
    columns.push(
      line.ratio === undefined ? "".padStart(9) : formatRatio(line.ratio).padStart(9),
      `of ${formatNumber(value)} ${unit} (${name})`.padEnd(44),
    )
  }
  if (line.goal !== undefined) columns.push(`goal ${line.goal}`)
  for (const { name, value } of line.others ?? []) columns.push(`${formatNumber(value)} (${name})`)
  return columns.join("  ").trimEnd()
}
