/**
 * Replaces the snapshot and journal of a data directory, both or neither.
 *
 * A restore first builds whole, durable replacements in `<directory>/restore.draft/`. Writing
 * `restore.json` is the point of no return: then each existing folder moves to `replaced-<time>/`,
 * its replacement takes its name, and finally `restore.json` is removed. After a crash the next
 * opening of the directory completes the swap; the folders still in the draft are the remaining
 * work. A draft without `restore.json` is discarded. Replaced data can be swapped in the same way:
 * `from` in `restore.json` names its folder.
 *
 * A swap leaves the file `restored`: the next start ends what must not come back (`takeRestored`).
 * In a cluster the file names the lineage that has the restored data: it was installed, or the
 * archive fills a copy. While it is installed, the lineage follows the word `installing`.
 *
 * All functions here require the lock of the directory.
 */
import path from "node:path"
import { Effect, Option, Schema } from "effect"
import {
  type Disk,
  DiskError,
  ifThere,
  namesIn,
  type OnDisk,
  readSmallFile,
  removeTree,
  replaceFile,
} from "../disk/Disk.ts"
import { gatheredName } from "./GatheredJournals.ts"

const Intent = Schema.fromJsonString(
  Schema.Struct({
    format: Schema.Literal(1),
    replaced: Schema.String,
    from: Schema.optionalKey(Schema.String),
    lineage: Schema.optionalKey(Schema.String),
    /** The replacement has no gathered journals, and those of the directory move aside. */
    endsGathered: Schema.optionalKey(Schema.Boolean),
  }),
)
type Intent = typeof Intent.Type
const encodeIntent = Schema.encodeSync(Intent)
const decodeIntent = Schema.decodeUnknownOption(Intent)

const intentName = "restore.json"
const intentBytesMax = 4_096
const replacedFolders = ["journal", "live", gatheredName] as const

export const restoredName = "restored"
const restoredBytesMax = 1_024

const draftName = "restore.draft"

/** The folder of the replacements. */
export const draftIn = (directory: string): string => path.join(directory, draftName)

/**
 * Recreates the draft folder, with empty folders for the database and the journal, and fills it.
 * A draft whose filling fails is removed.
 */
export const inDraft = <A, E, R>(
  disk: Disk,
  directory: string,
  fill: (draft: string) => Effect.Effect<A, E, R>,
): Effect.Effect<A, DiskError | E, R> =>
  Effect.gen(function* () {
    const draft = draftIn(directory)
    yield* removeTree(disk, draft)
    for (const name of ["journal", "live"]) yield* disk.makeFolder(path.join(draft, name))
    return yield* Effect.onError(fill(draft), () => Effect.ignore(removeTree(disk, draft)))
  })

/** The folders of replaced data in `directory`, oldest first. */
export const replacedIn = (disk: Disk, directory: string): OnDisk<ReadonlyArray<string>> =>
  Effect.map(namesIn(disk, directory), (names) =>
    names.filter((name) => name.startsWith(replacedPrefix)).sort(),
  )

const replacedPrefix = "replaced-"

const has = (disk: Disk, folder: string, name: string): Effect.Effect<boolean, DiskError> =>
  Effect.map(namesIn(disk, folder), (names) => names.includes(name))

export interface Replacement {
  /** The folder in the directory; default: the draft. */
  readonly from?: string
  /** The cluster's journal that has the data already. */
  readonly lineage?: string
}

/**
 * Installs a replacement. Returns the folder of the replaced data; `undefined` if there was none.
 * `at` is epoch milliseconds.
 */
export const installDraft = Effect.fnUntraced(function* (
  disk: Disk,
  directory: string,
  at: number,
  replacement: Replacement = {},
): Effect.fn.Return<string | undefined, DiskError> {
  const replaced = `${replacedPrefix}${new Date(at).toISOString().replaceAll(":", "-")}`
  const draft = path.join(directory, replacement.from ?? draftName)
  const endsGathered = !(yield* has(disk, draft, gatheredName))
  const intent = { format: 1, replaced, ...replacement, endsGathered } as const
  yield* replaceFile(disk, directory, intentName, encodeIntent(intent))
  return yield* finish(disk, directory, intent)
})

const finish = Effect.fnUntraced(function* (
  disk: Disk,
  directory: string,
  { endsGathered = false, from = draftName, lineage = "", replaced }: Intent,
): Effect.fn.Return<string | undefined, DiskError> {
  const draft = path.join(directory, from)
  const aside = path.join(directory, replaced)
  yield* disk.makeFolder(aside)
  for (const name of replacedFolders) {
    const isInDraft = yield* has(disk, draft, name)
    if (!isInDraft && !(endsGathered && name === gatheredName)) continue
    if ((yield* has(disk, directory, name)) && !(yield* has(disk, aside, name))) {
      yield* disk.rename(path.join(directory, name), path.join(aside, name))
      yield* disk.syncFolder(aside)
      yield* disk.syncFolder(directory)
    }
    if (!isInDraft) continue
    yield* disk.rename(path.join(draft, name), path.join(directory, name))
    yield* disk.syncFolder(directory)
    yield* disk.syncFolder(draft)
  }
  const kept = (yield* disk.list(aside)).length > 0
  if (!kept) yield* disk.removeFolder(aside)
  yield* removeTree(disk, draft)
  yield* disk.syncFolder(directory)
  yield* replaceFile(disk, directory, restoredName, lineage)
  yield* disk.remove(path.join(directory, intentName))
  yield* disk.syncFolder(directory)
  return kept ? aside : undefined
})

const readIntent = (disk: Disk, directory: string): OnDisk<Intent | undefined> =>
  Effect.flatMap(
    ifThere(readSmallFile(disk, path.join(directory, intentName), intentBytesMax)),
    (text) => {
      if (text === undefined) return Effect.undefined
      const intent = Option.getOrUndefined(decodeIntent(text))
      const where = path.join(directory, intentName)
      return intent === undefined
        ? Effect.fail(new DiskError({ operation: "understand", path: where, code: "EBADMSG" }))
        : Effect.succeed(intent)
    },
  )

/** Completes or discards a swap that a crash interrupted, before the directory is opened. */
export const settleSwap = Effect.fnUntraced(function* (
  disk: Disk,
  directory: string,
): Effect.fn.Return<void, DiskError> {
  const intent = yield* readIntent(disk, directory)
  if (intent === undefined) {
    if (yield* has(disk, directory, draftName)) {
      yield* removeTree(disk, draftIn(directory))
      yield* Effect.logWarning(
        "A restore that was interrupted before it changed anything was given up",
      )
    }
    return
  }
  const aside = yield* finish(disk, directory, intent)
  yield* Effect.logWarning("A restore that was interrupted was finished").pipe(
    Effect.annotateLogs({ replaced: aside ?? "nothing" }),
  )
})

/** Runs `end` if a swap has taken place since it last succeeded; a crash in between repeats it. */
export const takeRestored = <E, R>(
  disk: Disk,
  directory: string,
  end: Effect.Effect<void, E, R>,
): Effect.Effect<void, E | DiskError, R> =>
  Effect.gen(function* () {
    if (!(yield* has(disk, directory, restoredName))) return
    yield* end
    yield* disk.remove(path.join(directory, restoredName))
    yield* disk.syncFolder(directory)
  })

/** From now on the data is no restored data. */
export const forgetRestored = (disk: Disk, directory: string): OnDisk<void> =>
  takeRestored(disk, directory, Effect.void)

const installing = "installing "

/** Notes in the mark of a restore that a cluster gets the restored data as this lineage now. */
export const noteInstalling = (disk: Disk, directory: string, lineage: string): OnDisk<void> =>
  noteInstalled(disk, directory, installing + lineage)

/** The lineage as which a cluster may have the restored data. */
export const readInstalling = (disk: Disk, directory: string): OnDisk<string | undefined> =>
  Effect.map(readRestored(disk, directory), (text) =>
    text?.startsWith(installing) ? text.slice(installing.length) : undefined,
  )

/** The lineage that has the restored data for certain. */
export const readInstalled = (disk: Disk, directory: string): OnDisk<string | undefined> =>
  Effect.map(readRestored(disk, directory), (text) =>
    text === "" || text?.startsWith(installing) ? undefined : text,
  )

/** Notes in the mark of a restore that a cluster has the restored data, as this lineage. */
export const noteInstalled = (disk: Disk, directory: string, lineage: string): OnDisk<void> =>
  Effect.flatMap(has(disk, directory, restoredName), (isThere) =>
    isThere ? replaceFile(disk, directory, restoredName, lineage) : Effect.void,
  )

/** The mark of a restore since which the directory was not open. */
export const readRestored = (disk: Disk, directory: string): OnDisk<string | undefined> =>
  ifThere(readSmallFile(disk, path.join(directory, restoredName), restoredBytesMax))
