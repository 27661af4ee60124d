/**
 * Puts a new snapshot and journal in the place of those of a data directory, both or neither.
 *
 * The new ones are made in `<directory>/restore.draft/`, whole and durable. Then `restore.json` is written, and
 * from that moment on it happens: each folder that is there goes to `replaced-<time>/`, the new one takes
 * its name, and at last `restore.json` goes. Whoever opens the directory next finishes what a crash has
 * interrupted; what is left to do shows in which folders are still in the draft. A draft without
 * `restore.json` was given up, and is removed. What was replaced can take the draft's place in the same way: `from`
 * in `restore.json` names its folder.
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
} from "../disk/Disk.ts"

const Intent = Schema.fromJsonString(
  Schema.Struct({
    format: Schema.Literal(1),
    replaced: Schema.String,
    from: Schema.optionalKey(Schema.String),
  }),
)
type Intent = typeof Intent.Type
const encodeIntent = Schema.encodeSync(Intent)
const decodeIntent = Schema.decodeUnknownOption(Intent)

const intentName = "restore.json"
const intentBytesMax = 4_096
const replacedFolders = ["journal", "live"] as const

const draftName = "restore.draft"

/** Where the new folders are made. */
export const draftIn = (directory: string): string => path.join(directory, draftName)

/** The folders in `directory` with what restores have replaced, oldest first. */
export const replacedIn = (disk: Disk, directory: string): OnDisk<ReadonlyArray<string>> =>
  disk.list(directory).pipe(
    Effect.catchIf(isMissing, () => Effect.succeed([])),
    Effect.map((names) => names.filter((name) => name.startsWith(replacedPrefix)).sort()),
  )

const replacedPrefix = "replaced-"

const has = (disk: Disk, folder: string, name: string): Effect.Effect<boolean, DiskError> =>
  disk.list(folder).pipe(
    Effect.map((names) => names.includes(name)),
    Effect.catchIf(isMissing, () => Effect.succeed(false)),
  )

/**
 * Installs the draft of `directory`, or what is in its folder `from`. Returns the folder with what it replaced;
 * `undefined`: there was nothing to replace. `at` is epoch milliseconds.
 */
export const installDraft = Effect.fnUntraced(function* (
  disk: Disk,
  directory: string,
  at: number,
  from: string = draftName,
): Effect.fn.Return<string | undefined, DiskError> {
  const replaced = `${replacedPrefix}${new Date(at).toISOString().replaceAll(":", "-")}`
  const intent = { format: 1, replaced, from } as const
  yield* replaceFile(disk, directory, intentName, encodeIntent(intent))
  return yield* finish(disk, directory, intent)
})

const finish = Effect.fnUntraced(function* (
  disk: Disk,
  directory: string,
  { from = draftName, replaced }: Intent,
): Effect.fn.Return<string | undefined, DiskError> {
  const draft = path.join(directory, from)
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
  yield* removeTree(disk, draft)
  yield* disk.syncFolder(directory)
  yield* disk.remove(path.join(directory, intentName))
  yield* disk.syncFolder(directory)
  return kept ? aside : undefined
})

const readIntent = (disk: Disk, directory: string): OnDisk<Intent | undefined> =>
  readSmallFile(disk, path.join(directory, intentName), intentBytesMax).pipe(
    Effect.flatMap((text) => {
      const intent = Option.getOrUndefined(decodeIntent(text))
      const where = path.join(directory, intentName)
      return intent === undefined
        ? Effect.fail(new DiskError({ operation: "understand", path: where, code: "EBADMSG" }))
        : Effect.succeed(intent)
    }),
    Effect.catchIf(isMissing, () => Effect.succeed(undefined)),
  )

/** Finishes or gives up what a crash has interrupted, before anything of the directory is opened. */
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
