/**
 * Imports a CSV file over the API of a running server. The whole file is checked before anything is
 * sent. Then each row is sent in the order of the file, in batches.
 *
 * Exactly once: an event has an id, and a user has one opening, so what was sent before changes
 * nothing. After a failure the same command goes on: it sends the file again, or with `from` only the
 * rows from a line on.
 *
 * Cost: two passes over the file; for each row about 100 bytes of memory.
 */
import { createReadStream } from "node:fs"
import { pipeline } from "node:stream/promises"
import { CsvError, parse } from "csv-parse"
import { Result } from "effect"
import type { createLaurel } from "../../client/index.ts"
import type { Fault } from "../../domain/values/Errors.ts"
import { limits } from "../../Limits.ts"
import { type CsvMap, columnsOf, type Defined, type Item, type Row, RowReader } from "./CsvMap.ts"

type Laurel = ReturnType<typeof createLaurel>

/** A row that cannot be imported, or that the server refused. */
export interface BadRow {
  /** The first line of the row, from 1; the names of the columns are in line 1. */
  readonly line: number
  readonly faults: ReadonlyArray<Pick<Fault, "detail" | "pointer">>
}

interface Checked {
  readonly rows: number
  readonly bad: ReadonlyArray<BadRow>
}

export interface Sent {
  readonly accepted: number
  readonly duplicates: number
  readonly refused: ReadonlyArray<BadRow>
}

/** A file that is no CSV, or lacks columns. */
export class BadFile extends Error {
  override readonly name = "BadFile"
}

interface Line {
  readonly line: number
  readonly row: Row
  /** The number of its cells, if it is not that of the columns. */
  readonly cells?: number
}

export class CsvImport {
  readonly #file: string
  readonly #map: CsvMap

  constructor(file: string, map: CsvMap) {
    this.#file = file
    this.#map = map
  }

  /** Checks all rows, and tells every fault. */
  async check(): Promise<Checked> {
    const bad: Array<BadRow> = []
    let rows = 0
    for await (const { line, result } of this.#items()) {
      rows++
      if (Result.isFailure(result)) bad.push({ line, faults: result.failure })
    }
    return { rows, bad }
  }

  /** Sends the rows from the line `from` on. `sent` is called after each batch, with its last line. */
  async send(laurel: Laurel, from: number, sent: (line: number) => void): Promise<Sent> {
    let accepted = 0
    let duplicates = 0
    const refused: Array<BadRow> = []
    for await (const batch of this.#batches(from)) {
      const outcome = await sendBatch(
        laurel,
        this.#map,
        batch.map(({ item }) => item),
      )
      accepted += outcome.accepted
      duplicates += outcome.duplicates
      outcome.results.forEach((result, index) => {
        if (result.ok) return
        const { detail, errors } = result
        const faults = errors.length > 0 ? errors : [{ pointer: "", detail }]
        refused.push({ line: batch[index]!.line, faults })
      })
      sent(batch.at(-1)!.line)
    }
    return { accepted, duplicates, refused }
  }

  async *#batches(from: number) {
    let batch: Array<{ readonly line: number; readonly item: Item }> = []
    let bytes = 0
    for await (const { line, result } of this.#items()) {
      // The file may have changed since it was checked.
      if (Result.isFailure(result)) throw new BadFile(`The file changed: line ${line} is faulty.`)
      if (line < from) continue
      const size = Buffer.byteLength(JSON.stringify(result.success)) + 1
      if (batch.length === limits.batchItemsMax || bytes + size > limits.batchBodyBytesMax / 2) {
        yield batch
        batch = []
        bytes = 0
      }
      batch.push({ line, item: result.success })
      bytes += size
    }
    if (batch.length > 0) yield batch
  }

  async *#items(): AsyncGenerator<{
    readonly line: number
    readonly result: Result.Result<Item, BadRow["faults"]>
  }> {
    const reader = new RowReader(this.#map)
    for await (const { cells, line, row } of this.#lines()) {
      const width = Object.keys(row).length
      const result =
        cells === undefined
          ? reader.read(row, line)
          : Result.fail([{ pointer: "", detail: `has ${cells} cells, not ${width}` }])
      yield { line, result }
    }
  }

  async *#lines(): AsyncGenerator<Line> {
    const parser = parse({
      bom: true,
      delimiter: this.#map.delimiter ?? ",",
      quote: this.#map.quote ?? '"',
      relax_column_count: true,
      skip_empty_lines: true,
      trim: true,
      info: true,
    })
    const reading = pipeline(createReadStream(this.#file), parser)
    // The iteration below ends with the error.
    reading.catch(() => {})
    let names: ReadonlyArray<string> | undefined
    let line = 1
    try {
      for await (const { info, record } of parser as AsyncIterable<{
        readonly info: { readonly lines: number }
        readonly record: ReadonlyArray<string>
      }>) {
        if (names === undefined) names = this.#named(record)
        else {
          const row = Object.fromEntries(names.map((name, index) => [name, record[index] ?? ""]))
          const isWhole = record.length === names.length
          yield { line, row, ...(!isWhole && { cells: record.length }) }
        }
        line = info.lines + 1
      }
    } catch (error) {
      if (error instanceof CsvError) throw new BadFile(error.message)
      throw error
    }
    if (names === undefined) throw new BadFile("The file is empty.")
  }

  #named(names: ReadonlyArray<string>): ReadonlyArray<string> {
    const missing = [...new Set(columnsOf(this.#map))].filter((name) => !names.includes(name))
    const twice = names.filter((name, index) => names.indexOf(name) !== index)
    if (missing.length > 0) {
      throw new BadFile(
        `The file has no column ${missing.join(", ")}. Its first line names: ${names.join(", ")}.`,
      )
    }
    if (twice.length > 0) throw new BadFile(`The file has the column ${twice.join(", ")} twice.`)
    return names
  }
}

/** The keys of what the environment of the key defines. */
export const definedAt = async (laurel: Laurel): Promise<Defined> => {
  const { badges = [], currencies = [], streaks = [] } = await laurel.definitions.export()
  const keysOf = (all: ReadonlyArray<{ readonly key?: string }>) =>
    all.flatMap(({ key }) => key ?? [])
  return {
    currencies: new Set(["xp", "points", ...keysOf(currencies)]),
    streaks: new Set(keysOf(streaks)),
    badges: new Set(keysOf(badges)),
  }
}

interface Outcome {
  readonly accepted: number
  readonly duplicates: number
  readonly results: ReadonlyArray<
    | { readonly ok: true }
    | { readonly ok: false; readonly detail: string; readonly errors: ReadonlyArray<Fault> }
  >
}

/** Items are what the schemas of the API accept (`RowReader`). */
const sendBatch = async (
  laurel: Laurel,
  { openings }: CsvMap,
  items: ReadonlyArray<Item>,
): Promise<Outcome> => {
  const reply =
    openings === undefined
      ? await laurel.events.importBatch({ events: items as never })
      : await laurel.openings.openBatch({ openings: items })
  return reply as unknown as Outcome
}
