/**
 * The tables of an archive: its database and its parts, merged in the order of their keys. As `LmdbReader`: synchronous, and
 * in a child process only, or once the checksums of all files were found right.
 */
import path from "node:path"
import { Effect, type Scope } from "effect"
import { openingCause } from "../lmdb/fullDisk.ts"
import { LmdbReader } from "../lmdb/LmdbReader.ts"
import type { Range, StoredEntry, Table } from "../Storage.ts"
import { type Part, partPath, readSection, readSections, type Section } from "./PartFile.ts"

/** The folder of an archive's database; before format 2 it had a data directory's. */
export const archivedFolder = "snapshot"

export interface TableReader {
  readonly get: (table: Table, key: Uint8Array) => Uint8Array | undefined
  /** The entries of a range, in byte order of the keys. */
  readonly entries: (range: Pick<Range, "table" | "from" | "until">) => Generator<StoredEntry>
  /** Number of entries of a table. */
  readonly count: (table: Table) => number
}

interface PlacedSection extends Section {
  readonly where: string
}

/** Opens the tables of the archive in `folder` for the surrounding scope; of its parts only `parts`. */
export const openArchiveTables = (
  folder: string,
  parts: ReadonlyArray<Part>,
): Effect.Effect<ArchiveTables, unknown, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.try({
      try: () => new ArchiveTables(folder, parts),
      catch: (error) => openingCause(folder, error),
    }),
    (tables) => Effect.promise(() => tables.close()),
  )

class ArchiveTables implements TableReader {
  readonly #database: LmdbReader
  /** Of each table, in the order of the keys. */
  readonly #sections = new Map<Table, ReadonlyArray<PlacedSection>>()
  readonly #counts = new Map<Table, number>()

  constructor(folder: string, parts: ReadonlyArray<Part>) {
    for (const [table, ofTable] of Map.groupBy(parts, (part) => part.table)) {
      const sections = ofTable.flatMap((part) => {
        const where = partPath(folder, part)
        return readSections(where).map((section) => ({ ...section, where }))
      })
      sections.sort((one, other) => Buffer.compare(one.first, other.first))
      this.#sections.set(table, sections)
      this.#counts.set(
        table,
        ofTable.reduce((sum, { entries }) => sum + entries, 0),
      )
    }
    this.#database = new LmdbReader(path.join(folder, archivedFolder))
  }

  /** Of a table that has parts: only what the database has of it. */
  get(table: Table, key: Uint8Array): Uint8Array | undefined {
    return this.#database.get(table, key)
  }

  count(table: Table): number {
    return this.#database.count(table) + (this.#counts.get(table) ?? 0)
  }

  *entries(range: Pick<Range, "table" | "from" | "until">): Generator<StoredEntry> {
    const ofParts = this.#inParts(range)
    let next = ofParts.next()
    for (const entry of this.#database.entries(range)) {
      while (!next.done && Buffer.compare(next.value[0], entry[0]) < 0) {
        yield next.value
        next = ofParts.next()
      }
      yield entry
    }
    while (!next.done) {
      yield next.value
      next = ofParts.next()
    }
  }

  *#inParts({ from, table, until }: Pick<Range, "table" | "from" | "until">) {
    const sections = this.#sections.get(table) ?? []
    // The last section that begins at `from` or before it may reach beyond it.
    for (let n = Math.max(0, firstAfter(sections, from) - 1); n < sections.length; n++) {
      const section = sections[n]!
      if (Buffer.compare(section.first, until) >= 0) return
      for (const entry of readSection(section.where, section)) {
        if (Buffer.compare(entry[0], until) >= 0) return
        if (Buffer.compare(entry[0], from) >= 0) yield entry
      }
    }
  }

  close(): Promise<void> {
    return this.#database.close()
  }
}

/** The place of the first section that begins after `key`. */
const firstAfter = (sections: ReadonlyArray<Section>, key: Uint8Array): number => {
  let low = 0
  let high = sections.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (Buffer.compare(sections[middle]!.first, key) > 0) high = middle
    else low = middle + 1
  }
  return low
}
