/**
 * The file `lineage.json` marks a data directory as a copy of the journal of a cluster, and has the
 * id of that journal. A directory without the file has its own journal.
 */
import path from "node:path"
import { Effect, Option, Schema } from "effect"
import { type Disk, ifThere, type OnDisk, readSmallFile, replaceFile } from "../disk/Disk.ts"

export const lineageName = "lineage.json"

const bytesMax = 1_024

const LineageFile = Schema.fromJsonString(
  Schema.Struct({ format: Schema.Literal(1), lineage: Schema.String }),
)
const decode = Schema.decodeUnknownOption(LineageFile)
const encode = Schema.encodeSync(LineageFile)

/** The lineage of a data directory; `undefined` if it has its own journal. */
export const readLineage = (disk: Disk, directory: string): OnDisk<string | undefined> =>
  Effect.map(
    ifThere(readSmallFile(disk, path.join(directory, lineageName), bytesMax)),
    (text) => Option.getOrUndefined(decode(text))?.lineage,
  )

export const writeLineage = (disk: Disk, directory: string, lineage: string): OnDisk<void> =>
  replaceFile(disk, directory, lineageName, encode({ format: 1, lineage }))

/** Removes the mark: from now on the directory has its own journal. */
export const removeLineage = (disk: Disk, directory: string): OnDisk<void> =>
  Effect.andThen(disk.remove(path.join(directory, lineageName)), disk.syncFolder(directory))
