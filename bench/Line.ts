/** One question of a bench, beside a reference measured in the same run. */
export interface BenchLine {
  readonly question: string
  readonly value: number
  readonly unit: string
  readonly reference?: { readonly name: string; readonly value: number; readonly unit: string }
  /** `value` divided by the reference's value. */
  readonly ratio?: number
  /** The goal, as text. */
  readonly goal?: string
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

/** A number as a person reads it: grouped thousands, at least three significant digits. */
const formatNumber = (value: number): string =>
  value.toLocaleString(
    "en-US",
    value < 100 ? { maximumSignificantDigits: 3 } : { maximumFractionDigits: 0 },
  )

const formatRatio = (ratio: number): string => `${ratio.toPrecision(ratio < 10 ? 2 : 3)}×`

/** One line of text with columns that stand under each other: question, value, ratio and reference, goal. */
export const formatLine = (line: BenchLine): string => {
  const columns = [
    line.question.padEnd(58),
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
  return columns.join("  ").trimEnd()
}
