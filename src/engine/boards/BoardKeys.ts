/** Keys and values of the table `boards`. `StoredBoard.ts` has their forms. */
import { Effect } from "effect"
import type { BoardWindow } from "../../domain/project/BoardDefinition.ts"
import { asBuffer, compositeKey, rangeOf } from "../../storage/Keys.ts"
import type { Broken, Entry, Range, Storage, StoredEntry } from "../../storage/Storage.ts"
import { collectEntries, decodeValue, encodeValue } from "../../storage/Values.ts"

export type Store = Storage["Service"]

/** The place of a board in the table. */
export interface BoardPlace {
  readonly environment: string
  /** The id of the definition. */
  readonly board: string
  readonly kind: BoardWindow
  readonly index: number
}

export type Section = "w" | "r" | "u" | "g" | "n" | "h"

export const boardKey = (
  section: Section,
  { board, environment, index, kind }: BoardPlace,
  ...rest: ReadonlyArray<number>
): Uint8Array => compositeKey(section, environment, board, kind, index, ...rest)

/** The keys of a section of all windows of a definition. */
export const boardRange = (section: Section | "t", environment: string, board: string) =>
  rangeOf(compositeKey(section, environment, board))

export const boardEntry = (key: Uint8Array, body: Uint8Array | string): Entry => ({
  table: "boards",
  key,
  value: encodeValue(body),
})

export const readRange = (storage: Store, range: Omit<Range, "table">) =>
  collectEntries(storage, { table: "boards", ...range })

export const bodyOf = ([key, value]: StoredEntry): Effect.Effect<Buffer, Broken> =>
  Effect.map(decodeValue(value, { table: "boards", key }), asBuffer)

export const readBody = (
  storage: Store,
  key: Uint8Array,
): Effect.Effect<Buffer | undefined, Broken> =>
  Effect.flatMap(
    Effect.suspend(() => storage.readEntry("boards", key)),
    (value) => (value === undefined ? Effect.succeed(undefined) : bodyOf([key, value])),
  )
