/** A column of a table. */
export interface Column<Row> {
  readonly title: string
  readonly align: "left" | "right"
  readonly text: (row: Row) => string
}

/** A line with the titles, a rule, and a line for each row. */
export const formatTable = <Row>(
  columns: ReadonlyArray<Column<Row>>,
  rows: ReadonlyArray<Row>,
): string => {
  const cells = [
    columns.map(({ title }) => title),
    ...rows.map((row) => columns.map(({ text }) => text(row))),
  ]
  const widths = columns.map((_, index) => Math.max(...cells.map((line) => line[index]!.length)))
  const format = (line: ReadonlyArray<string>): string =>
    columns
      .map(({ align }, index) =>
        align === "left"
          ? line[index]!.padEnd(widths[index]!)
          : line[index]!.padStart(widths[index]!),
      )
      .join("  ")
      .trimEnd()
  const [titles, ...lines] = cells.map(format)
  const rule = widths.map((width) => "─".repeat(width)).join("  ")
  return [titles, rule, ...lines].join("\n")
}

/* Amounts and times as people read them. */

const units = ["B", "KiB", "MiB", "GiB", "TiB"] as const

/** Bytes in the largest unit whose value is at least 1. */
export const bytesText = (bytes: number): string => {
  let value = bytes
  let unit = 0
  while (value >= 1_024 && unit < units.length - 1) {
    value /= 1_024
    unit++
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`
}

export const countText = (value: number): string => value.toLocaleString("en-US")

/** A number of things: `1 record`, `2 records`. */
export const amountOf = (count: number, thing: string): string =>
  `${countText(count)} ${thing}${count === 1 ? "" : "s"}`

/** Numbers in ascending order, neighbours as ranges: `1-4, 6`. */
export const rangesText = (numbers: ReadonlyArray<number>): string => {
  const ranges: Array<[first: number, last: number]> = []
  for (const number of numbers) {
    const last = ranges.at(-1)
    if (last !== undefined && last[1] === number - 1) last[1] = number
    else ranges.push([number, number])
  }
  return ranges.map(([first, last]) => (first === last ? first : `${first}-${last}`)).join(", ")
}
