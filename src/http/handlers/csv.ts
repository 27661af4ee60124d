/** Replies that are tables, as CSV (RFC 4180). */
import { Stream } from "effect"
import type { StreamedReply } from "../stream/StreamedReply.ts"

type Cell = string | number | boolean | null | undefined

const cellText = (cell: Cell): string => {
  if (typeof cell !== "string") return `${cell ?? ""}`
  const text = /^[=+\-@\t\r＝＋－＠]/.test(cell) ? `'${cell}` : cell
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** A line of a table. A text that a spreadsheet would take for a formula gets an apostrophe. */
export const csvLine = (cells: ReadonlyArray<Cell>): string =>
  `${cells.map(cellText).join(",")}\r\n`

export type Row = Readonly<Record<string, string | number | boolean | null>>

/** A table with a head line. Without `columns` there is at least one row. */
export const csv = (
  name: string,
  rows: ReadonlyArray<Row>,
  columns: ReadonlyArray<string> = Object.keys(rows[0]!),
): StreamedReply => {
  const lines = [columns, ...rows.map((row) => columns.map((column) => row[column]))]
  return csvReply(name, Stream.make(lines.map(csvLine).join("")))
}

/** A reply with the text of a table, named by its file without the ending. */
export const csvReply = (name: string, stream: StreamedReply["stream"]): StreamedReply => ({
  contentType: "text/csv; charset=utf-8",
  headers: ["Content-Disposition", `attachment; filename="${name}.csv"`],
  stream,
})
