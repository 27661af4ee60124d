/** Data of a newer Laurel is refused with one sentence and its exit code, and nothing is changed. */
import { createHash } from "node:crypto"
import { readdir, readFile, writeFile } from "node:fs/promises"
import path from "node:path"
import { crc32 } from "node:zlib"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { exitCodes } from "../../../src/cli/output/ExitCode.ts"
import { compositeKey } from "../../../src/storage/Keys.ts"
import { openLmdbStore } from "../../../src/storage/lmdb/LmdbStore.ts"
import { encodeValue } from "../../../src/storage/SealedValue.ts"
import { runCommand } from "../../cli/commands.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { unpacked } from "./unpacked.ts"

const set = "1.0.0-rc.1"
/** No format will have this number soon. */
const newerFormat = 99
const segment = "00000000000000000001.segment"

/** Sets the format of a journal's segment. */
const newerSegment = async (file: string) => {
  const bytes = await readFile(file)
  bytes.writeUInt32LE(newerFormat, 8)
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 24)), 24)
  await writeFile(file, bytes)
}

// biome-ignore lint/suspicious/noExplicitAny: JSON of any form
const newerJson = async (file: string, change: (content: any) => unknown) =>
  writeFile(file, JSON.stringify(change(JSON.parse(await readFile(file, "utf8")))))

const archiveIn = async (directory: string) => {
  const [id] = await readdir(path.join(directory, "archive"))
  return { id: id!, manifest: path.join(directory, "archive", id!, "manifest.json") }
}

interface Case {
  readonly name: string
  readonly make: (directory: string) => Promise<unknown>
  readonly command: (directory: string) => Promise<ReadonlyArray<string>> | ReadonlyArray<string>
  readonly code: number
  readonly words: RegExp
  /** The files that are as before. Default: all. */
  readonly kept?: RegExp
}

const create = ["keys", "create", "--project", "shop", "--environment", "sandbox"]

const cases: ReadonlyArray<Case> = [
  {
    name: "a journal",
    make: (directory) => newerSegment(path.join(directory, "journal", segment)),
    command: () => create,
    code: exitCodes.damagedData,
    words: /journal\/\S+segment was written by a newer Laurel/,
  },
  {
    name: "a value of the snapshot",
    make: (directory) =>
      Effect.runPromise(
        Effect.scoped(
          Effect.gen(function* () {
            const store = yield* openLmdbStore({ folder: path.join(directory, "live") })
            const key = compositeKey("prj_x:sandbox", "newer")
            const value = Buffer.from(encodeValue("{}"))
            value[0] = newerFormat
            value.writeUInt32LE(crc32(value.subarray(0, -4)), value.length - 4)
            yield* store.writeEntries([{ table: "users", key, value }])
          }),
        ),
      ),
    command: () => create,
    code: exitCodes.damagedData,
    words: /The value \[.*\] of table users has format 99: it was written by a newer Laurel/,
  },
  {
    name: "an audit log",
    make: (directory) => newerSegment(path.join(directory, "audit", segment)),
    command: () => create,
    code: exitCodes.damagedData,
    words: /audit\/\S+segment was written by a newer Laurel\. The log was not changed/,
    // The engine is open by then.
    kept: /^audit\/.*\d\.segment$/,
  },
  {
    name: "an archive",
    make: async (directory) => {
      const { manifest } = await archiveIn(directory)
      await newerJson(manifest, ({ manifest: content }) => {
        const newer = { ...content, format: newerFormat }
        const sha256 = createHash("sha256").update(JSON.stringify(newer)).digest("hex")
        return { sha256, manifest: newer }
      })
    },
    command: async (directory) => [
      "snapshots",
      "restore",
      (await archiveIn(directory)).id,
      "--yes",
    ],
    code: exitCodes.refused,
    words: /has format 99: it was written by a newer Laurel/,
  },
  {
    name: "a restore in progress",
    make: (directory) =>
      writeFile(
        path.join(directory, "restore.json"),
        `{"format":${newerFormat},"replaced":"replaced-x"}`,
      ),
    command: () => create,
    code: exitCodes.damagedData,
    words: /restore\.json is damaged, or was written by a newer Laurel\. Nothing was changed/,
  },
  {
    name: "the archive settings of its server",
    make: (directory) =>
      newerJson(path.join(directory, "archives.json"), (content) => ({
        ...content,
        format: newerFormat,
        directory,
      })),
    command: () => ["snapshots", "prune"],
    code: exitCodes.damagedData,
    words: /archives\.json is damaged, or was written by a newer Laurel\. Nothing was changed/,
  },
]

/** Marks that an opening leaves where it goes on to the next part. */
const marks = /(^|\/)(lock.*|journal\/(clean|flushed|next\.segment))$/

/** Every file by its checksum, but for marks. */
const checksums = (directory: string, kept = /./) =>
  Effect.promise(async () => {
    const entries = await readdir(directory, { recursive: true, withFileTypes: true })
    const files = entries
      .filter((each) => each.isFile())
      .map(({ name, parentPath }) => path.relative(directory, path.join(parentPath, name)))
      .filter((file) => kept.test(file) && !marks.test(file))
    const found = files.map(async (file) => {
      const bytes = await readFile(path.join(directory, file))
      return [file, createHash("sha256").update(bytes).digest("hex")]
    })
    return Object.fromEntries(await Promise.all(found)) as Record<string, string>
  })

describe("A newer format", () => {
  for (const { code, command, kept, make, name, words } of cases) {
    it.live(`of ${name} is refused, and nothing is changed`, () =>
      Effect.gen(function* () {
        const directory = yield* unpacked(set)
        yield* Effect.promise(() => make(directory))
        const before = yield* checksums(directory, kept)
        expect(Object.keys(before).length).toBeGreaterThan(0)
        const args = yield* Effect.promise(async () => command(directory))
        const end = yield* runCommand(args, directory)
        expect(end).toMatchObject({ code, stdout: "", stderr: expect.stringMatching(words) })
        expect(yield* checksums(directory, kept)).toEqual(before)
      }),
    )
  }

  it.live("of an export is refused, and nothing is made", () =>
    Effect.gen(function* () {
      const directory = yield* unpacked(set)
      const file = path.join(directory, "export.ndjson")
      const text = yield* Effect.promise(() => readFile(file, "utf8"))
      yield* Effect.promise(() =>
        writeFile(file, text.replace('"format":1', `"format":${newerFormat}`)),
      )
      const target = yield* temporaryFolder
      const end = yield* runCommand(["snapshots", "import", file], target)
      expect(end).toMatchObject({
        code: exitCodes.refused,
        stderr: expect.stringMatching(
          /line 1: it has format 99: it was written by a newer Laurel/i,
        ),
      })
      expect(yield* checksums(target)).toEqual({})
    }),
  )
})
