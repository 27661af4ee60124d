/**
 * Writes the rows of a table as Parquet files, the parts of the table.
 *
 * Rows wait until they make a row group: `parquetGroupRowsMax` of them, or `parquetGroupBytes` of
 * text. A part ends with the group that reaches `parquetPartBytes`, so that it is one object of a
 * bucket. Memory: the rows of one group, one part, and those that are full until the caller rests.
 */
import { Effect } from "effect"
import type { BasicType, ByteWriter, ParquetWriter } from "hyparquet-writer"
import { limits } from "../../../Limits.ts"

/** The module is loaded by the job alone. */
export const loadParquet = Effect.promise(() => import("hyparquet-writer"))

type Module = Effect.Success<typeof loadParquet>

/** A value as the column's type wants it; a text may be JSON. */
export type Cell = string | number | bigint | boolean | Date | null

export interface Column {
  readonly name: string
  readonly type: BasicType
  readonly nullable: boolean
}

/** Takes a file, whole. `name` has slashes between folders. */
export type Sink<E> = (name: string, bytes: Uint8Array) => Effect.Effect<void, E>

interface Part {
  readonly bytes: ByteWriter
  readonly writer: ParquetWriter
}

export class ParquetParts<E> {
  /** How many rows and parts there are. */
  rows = 0
  parts = 0
  readonly #module: Module
  readonly #name: string
  readonly #columns: ReadonlyArray<Column>
  readonly #sink: Sink<E>
  #cells: Array<Array<Cell>>
  #waiting = 0
  #waitingBytes = 0
  #part: Part | undefined
  /** The parts to pass on. */
  #full: Array<Uint8Array> = []

  constructor(module: Module, name: string, columns: ReadonlyArray<Column>, sink: Sink<E>) {
    this.#module = module
    this.#name = name
    this.#columns = columns
    this.#sink = sink
    this.#cells = columns.map(() => [])
  }

  /** Adds a row, with a cell for each column. The caller runs `rest` once in a while. */
  add(row: ReadonlyArray<Cell>): void {
    this.rows++
    this.#waiting++
    for (const [place, cell] of row.entries()) {
      this.#cells[place]!.push(cell)
      this.#waitingBytes += typeof cell === "string" ? Buffer.byteLength(cell) : 8
    }
    if (this.#waiting < limits.parquetGroupRowsMax) {
      if (this.#waitingBytes < limits.parquetGroupBytes) return
    }
    this.#writeGroup()
  }

  /** Passes on the parts that are full. */
  readonly rest: Effect.Effect<void, E> = Effect.suspend(() => {
    if (this.#full.length === 0) return Effect.void
    const full = this.#full
    this.#full = []
    return Effect.forEach(full, (bytes) => this.#pass(bytes), { discard: true })
  })

  #pass(bytes: Uint8Array): Effect.Effect<void, E> {
    const number = String(++this.parts).padStart(5, "0")
    return this.#sink(`${this.#name}/part-${number}.parquet`, bytes)
  }

  /** Passes on all that waits. A table without rows has one part, so that readers know its columns. */
  get end(): Effect.Effect<void, E> {
    return Effect.suspend(() => {
      this.#writeGroup()
      if (this.parts + this.#full.length === 0) this.#part ??= this.#begin()
      this.#endPart()
      return this.rest
    })
  }

  #begin(): Part {
    const { ByteWriter, ParquetWriter, schemaFromColumnData } = this.#module
    const bytes = new ByteWriter()
    const schema = schemaFromColumnData({
      columnData: this.#columns.map((column) => ({ ...column, data: [] })),
    })
    return { bytes, writer: new ParquetWriter({ writer: bytes, schema }) }
  }

  #writeGroup(): void {
    if (this.#waiting === 0) return
    this.#part ??= this.#begin()
    const columnData = this.#columns.map(({ name }, place) => ({ name, data: this.#cells[place]! }))
    this.#part.writer.write({ columnData, rowGroupSize: this.#waiting })
    this.#cells = this.#columns.map(() => [])
    this.#waiting = 0
    this.#waitingBytes = 0
    if (this.#part.bytes.offset >= limits.parquetPartBytes) this.#endPart()
  }

  #endPart(): void {
    if (this.#part === undefined) return
    const { bytes, writer } = this.#part
    writer.finish()
    this.#part = undefined
    this.#full.push(bytes.getBytes().slice())
  }
}
