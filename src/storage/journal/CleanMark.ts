/**
 * The mark of a clean shutdown, `journal/clean`: the last record and its batch's checksum. While the mark exists,
 * the journal must end exactly there, so a damaged tail is damage, not an interrupted write. The
 * first append of the next run removes it durably.
 */
import path from "node:path"
import { Effect, Option, Schema } from "effect"
import { type Disk, type DiskError, type OnDisk, readSmallFile, replaceFile } from "../disk/Disk.ts"

const CleanMark = Schema.fromJsonString(
  Schema.Struct({ format: Schema.Literal(1), lastSequence: Schema.Int, checksum: Schema.Int }),
)
export type CleanMark = typeof CleanMark.Type

const encode = Schema.encodeSync(CleanMark)
const decode = Schema.decodeUnknownOption(CleanMark)
const bytesMax = 1_024

const markPath = (folder: string) => path.join(folder, "clean")

export const readCleanMark = Effect.fnUntraced(function* (
  disk: Disk,
  folder: string,
): Effect.fn.Return<CleanMark | undefined, DiskError> {
  const names = yield* disk.list(folder)
  if (!names.includes("clean")) return undefined
  const text = yield* readSmallFile(disk, markPath(folder), bytesMax)
  const mark = Option.getOrUndefined(decode(text))
  if (mark === undefined) yield* Effect.logWarning("The mark of the last shutdown is unreadable")
  return mark
})

export const writeCleanMark = (disk: Disk, folder: string, mark: CleanMark): OnDisk<void> =>
  replaceFile(disk, folder, "clean", encode(mark))

export const removeCleanMark = (disk: Disk, folder: string): OnDisk<void> =>
  Effect.andThen(disk.remove(markPath(folder)), disk.syncFolder(folder))
