/**
 * Puts a new snapshot and journal in the place of those of a data directory, both or neither.
 *
 * The new ones are made in `<directory>/restore.draft/`, whole and durable. Then `restore.json` is written, and
 * from that moment on it happens: each folder that is there goes to `replaced-<time>/`, the new one takes
 * its name, and at last `restore.json` goes. Whoever opens the directory next finishes what a crash has
 * interrupted; what is left to do shows in which folders are still in the draft. A draft without
 * `restore.json` was given up, and is removed.
 *
 * Only who holds the lock of the directory may call these.
 */
import path from "node:path"
import { Effect, Option, Schema } from "effect"
import {
  type Disk,
  DiskError,
  isMissing,
  type OnDisk,
  readSmallFile,
  removeTree,
  replaceFile,
} from "./Disk.ts"

const Intent = Schema.fromJsonString(
  Schema.Struct({ format: Schema.Literal(1), replaced: Schema.String }),
)
const encodeIntent = Schema.encodeSync(Intent)
const decodeIntent = Schema.decodeUnknownOption(Intent)

const intentName = "restore.json"
const intentBytesMax = 4_096
const replacedFolders = ["journal", "live"] as const

/** Where the new folders are made. */
export const draftIn = (directory: string): string => path.join(directory, "restore.draft")

const has = (disk: Disk, folder: string, name: string): Effect.Effect<boolean, DiskError> =>
  disk.list(folder).pipe(
    Effect.map((names) => names.includes(name)),
    Effect.catchIf(isMissing, () => Effect.succeed(false)),
  )

/**
 * Installs the draft of `directory`. Returns the folder with what it replaced; `undefined`: there was nothing
 * to replace. `at` is epoch milliseconds.
 */
export const installDraft = Effect.fnUntraced(function* (
  disk: Disk,
  directory: string,
  at: number,
): Effect.fn.Return<string | undefined, DiskError> {
  const replaced = `replaced-${new Date(at).toISOString().replaceAll(":", "-")}`
  yield* replaceFile(disk, directory, intentName, encodeIntent({ format: 1, replaced }))
  return yield* finish(disk, directory, replaced)
})

const finish = Effect.fnUntraced(function* (
  disk: Disk,
  directory: string,
  replaced: string,
): Effect.fn.Return<string | undefined, DiskError> {
  const draft = draftIn(directory)
  const aside = path.join(directory, replaced)
  yield* disk.makeFolder(aside)
  for (const name of replacedFolders) {
    if (!(yield* has(disk, draft, name))) continue
    if ((yield* has(disk, directory, name)) && !(yield* has(disk, aside, name))) {
      yield* disk.rename(path.join(directory, name), path.join(aside, name))
      yield* disk.syncFolder(aside)
      yield* disk.syncFolder(directory)
    }
    yield* disk.rename(path.join(draft, name), path.join(directory, name))
    yield* disk.syncFolder(directory)
    yield* disk.syncFolder(draft)
  }
  const kept = (yield* disk.list(aside)).length > 0
  if (!kept) yield* disk.removeFolder(aside)
  yield* disk.remove(path.join(directory, intentName))
  yield* disk.syncFolder(directory)
  yield* removeTree(disk, draft)
  return kept ? aside : undefined
})

const readIntent = (disk: Disk, directory: string): OnDisk<string | undefined> =>
  readSmallFile(disk, path.join(directory, intentName), intentBytesMax).pipe(
    Effect.flatMap((text) => {
      const intent = Option.getOrUndefined(decodeIntent(text))
      const where = path.join(directory, intentName)
      return intent === undefined
        ? Effect.fail(new DiskError({ operation: "understand", path: where, code: "EBADMSG" }))
        : Effect.succeed(intent.replaced)
    }),
    Effect.catchIf(isMissing, () => Effect.succeed(undefined)),
  )

/** Finishes or gives up what a crash has interrupted, before anything of the directory is opened. */
export const settleSwap = Effect.fnUntraced(function* (
  disk: Disk,
  directory: string,
): Effect.fn.Return<void, DiskError> {
  const replaced = yield* readIntent(disk, directory)
  if (replaced === undefined) {
    if (yield* has(disk, directory, path.basename(draftIn(directory)))) {
      yield* removeTree(disk, draftIn(directory))
      yield* Effect.logWarning(
        "A restore that was interrupted before it changed anything was given up",
      )
    }
    return
  }
  const aside = yield* finish(disk, directory, replaced)
  yield* Effect.logWarning("A restore that was interrupted was finished").pipe(
    Effect.annotateLogs({ replaced: aside ?? "nothing" }),
  )
})
