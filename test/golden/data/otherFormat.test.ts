/** Data of an older or a newer format is refused with one sentence and its exit code, and nothing is changed. */
import { createHash } from "node:crypto"
import { readdir, readFile, writeFile } from "node:fs/promises"
import path from "node:path"
import { crc32 } from "node:zlib"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { exitCodes } from "../../../src/cli/output/ExitCode.ts"
import { exportFormat } from "../../../src/engine/archive/exports/ExportLines.ts"
import { dataFormat } from "../../../src/storage/format.ts"
import { compositeKey } from "../../../src/storage/Keys.ts"
import { openLmdbStore } from "../../../src/storage/lmdb/LmdbStore.ts"
import { encodeValue } from "../../../src/storage/SealedValue.ts"
import { runCommand } from "../../cli/commands.ts"
import { temporaryFolder } from "../../storage/temporaryFolder.ts"
import { laurel } from "./program.ts"
import { unpacked } from "./unpacked.ts"

const segment = "00000000000000000001.segment"

/** Sets the format of a journal's segment. */
const setSegment = async (file: string, format: number) => {
  const bytes = await readFile(file)
  bytes.writeUInt32LE(format, 8)
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 24)), 24)
  await writeFile(file, bytes)
}

// biome-ignore lint/suspicious/noExplicitAny: JSON of any form
const changeJson = async (file: string, change: (content: any) => unknown) =>
  writeFile(file, JSON.stringify(change(JSON.parse(await readFile(file, "utf8")))))

const archiveIn = async (directory: string) => {
  const [id] = await readdir(path.join(directory, "archive"))
  return { id: id!, manifest: path.join(directory, "archive", id!, "manifest.json") }
}

interface Case {
  readonly name: string
  readonly make: (directory: string, format: number) => Promise<unknown>
  readonly command: (directory: string) => Promise<ReadonlyArray<string>> | ReadonlyArray<string>
  readonly code: number
  /** Default: both formats, and the way over. */
  readonly words?: RegExp
  /** The files that are as before. Default: all. */
  readonly kept?: RegExp
}

const create = ["keys", "create", "--project", "shop", "--environment", "sandbox"]

const cases: ReadonlyArray<Case> = [
  {
    name: "a journal",
    make: (directory, format) => setSegment(path.join(directory, "journal", segment), format),
    command: () => create,
    code: exitCodes.damagedData,
  },
  {
    name: "a value of the snapshot",
    make: (directory, format) =>
      Effect.runPromise(
        Effect.scoped(
          Effect.gen(function* () {
            const store = yield* openLmdbStore({ folder: path.join(directory, "live") })
            const key = compositeKey("prj_x:sandbox", 0)
            const value = Buffer.from(encodeValue("{}"))
            value[0] = format
            value.writeUInt32LE(crc32(value.subarray(0, -4)), value.length - 4)
            yield* store.writeEntries([{ table: "buckets", key, value }])
          }),
        ),
      ),
    command: () => create,
    code: exitCodes.damagedData,
  },
  {
    name: "an audit log",
    make: (directory, format) => setSegment(path.join(directory, "audit", segment), format),
    command: () => create,
    code: exitCodes.damagedData,
    // The engine is open by then.
    kept: /^audit\/.*\d\.segment$/,
  },
  {
    name: "an archive",
    make: async (directory, format) => {
      const { manifest } = await archiveIn(directory)
      await changeJson(manifest, ({ manifest: content }) => {
        const other = { ...content, format }
        const sha256 = createHash("sha256").update(JSON.stringify(other)).digest("hex")
        return { sha256, manifest: other }
      })
    },
    command: async (directory) => [
      "snapshots",
      "restore",
      (await archiveIn(directory)).id,
      "--yes",
    ],
    code: exitCodes.refused,
  },
  {
    name: "a restore in progress",
    make: (directory, format) =>
      writeFile(
        path.join(directory, "restore.json"),
        `{"format":${format},"replaced":"replaced-x"}`,
      ),
    command: () => create,
    code: exitCodes.damagedData,
    words:
      /restore\.json is damaged, or was written by another version of Laurel\. Nothing was changed/,
  },
  {
    name: "the archive settings of its server",
    make: (directory, format) =>
      changeJson(path.join(directory, "archives.json"), (content) => ({
        ...content,
        format,
        directory,
      })),
    command: () => ["snapshots", "prune"],
    code: exitCodes.damagedData,
    words:
      /archives\.json is damaged, or was written by another version of Laurel\. Nothing was changed/,
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

describe.each([dataFormat - 1, dataFormat + 1])("Format %i", (format) => {
  const bothFormats = `has format ${format}, and this version of Laurel has format ${dataFormat} alone. To bring the data over, export it`

  for (const { code, command, kept, make, name, words = bothFormats } of cases) {
    it.live(`of ${name} is refused, and nothing is changed`, () =>
      Effect.gen(function* () {
        const directory = yield* unpacked
        yield* Effect.promise(() => make(directory, format))
        const before = yield* checksums(directory, kept)
        expect(Object.keys(before).length).toBeGreaterThan(0)
        const args = yield* Effect.promise(async () => command(directory))
        const end = yield* runCommand(args, directory)
        expect(end).toMatchObject({ code, stdout: "", stderr: expect.stringMatching(words) })
        expect(yield* checksums(directory, kept)).toEqual(before)
      }),
    )
  }

  it.live("of a data directory ends a server in one line with exit code 65", () =>
    Effect.gen(function* () {
      const directory = yield* unpacked
      const file = path.join(directory, "journal", segment)
      yield* Effect.promise(() => setSegment(file, format))
      const before = yield* checksums(directory)
      const { child, ended } = laurel(directory, Date.now(), "serve")
      const output = yield* Effect.promise(() => ended)
      expect(child.exitCode).toBe(exitCodes.damagedData)
      expect(output.trimEnd().split("\n").at(-1)).toContain(`${file} ${bothFormats}`)
      expect(yield* checksums(directory)).toEqual(before)
    }),
  )
})

describe.each([exportFormat - 1, exportFormat + 1])("Format %i of an export", (format) => {
  it.live("is refused, and nothing is made", () =>
    Effect.gen(function* () {
      const directory = yield* unpacked
      const file = path.join(directory, "export.ndjson")
      const text = yield* Effect.promise(() => readFile(file, "utf8"))
      const other = text.replace(`"format":${exportFormat}`, `"format":${format}`)
      yield* Effect.promise(() => writeFile(file, other))
      const target = yield* temporaryFolder
      const end = yield* runCommand(["snapshots", "import", file], target)
      const words = `ine 1: it has format ${format}, and this version of Laurel reads exports of format ${exportFormat} alone`
      expect(end).toMatchObject({
        code: exitCodes.refused,
        stderr: expect.stringContaining(words),
      })
      expect(yield* checksums(target)).toEqual({})
    }),
  )
})
