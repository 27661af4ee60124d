/** Columns of text that stand under each other. */
export interface Column<Row> {
  readonly title: string
  readonly align: "left" | "right"
  readonly text: (row: Row) => string
}

/** One line for the titles, one to underline them, one for each row. */
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
