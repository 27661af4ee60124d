/** Archives for a bucket, and the bucket. */
import { createHash } from "node:crypto"
import { mkdir, readFile, writeFile } from "node:fs/promises"
import path from "node:path"
import { Effect } from "effect"
import {
  archiveId,
  encodeManifest,
  type Manifest,
} from "../../../src/storage/archive/ArchiveManifest.ts"
import { partListPath, partName, writePartList } from "../../../src/storage/archive/PartFile.ts"
import { dataFormat } from "../../../src/storage/format.ts"
import { startS3 } from "../../storage/bucket/server.ts"

export const sum = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex")
export const hour = 3_600_000
export const day = 24 * hour
export const noon = Date.parse("2026-11-21T12:00:00Z")

/** Puts an archive of these contents into a folder; the job looks at files, not at what they mean. */
export const archiveOf = async (
  folder: string,
  at: number,
  parts: ReadonlyArray<Buffer>,
  database: Buffer,
  sequence = 7,
): Promise<Manifest> => {
  const id = archiveId(at, sequence)
  const where = path.join(folder, id)
  for (const name of ["snapshot", "parts", "journal"]) {
    await mkdir(path.join(where, name), { recursive: true })
  }
  const listed = parts.map((bytes) => ({
    ...{ table: "history" as const, partition: 0, first: "00", modifiedMs: 1, entries: 1, sum: 0 },
    ...{ records: 1, ids: 0, weight: 0, sha256: sum(bytes), bytes: bytes.length },
  }))
  for (const [n, bytes] of parts.entries()) {
    await writeFile(path.join(where, "parts", partName(listed[n]!)), bytes)
  }
  await Effect.runPromise(writePartList(where, listed))
  const journal = "journal/00000000000000000001.segment"
  await writeFile(path.join(where, "snapshot/data.mdb"), database)
  await writeFile(path.join(where, journal), `journal of ${id}`)
  const files = []
  for (const name of ["snapshot/data.mdb", journal, partListPath]) {
    const bytes = await readFile(path.join(where, name))
    files.push({ path: name, bytes: bytes.length, sha256: sum(bytes) })
  }
  const manifest: Manifest = {
    ...{ format: dataFormat, id, createdAt: new Date(at).toISOString(), recordedAt: null },
    ...{
      reason: "schedule",
      sequence,
      checksum: 1,
      watermark: 0,
      counts: { users: 3 },
      sums: {},
    },
    files,
    parts: { files: parts.length, bytes: parts.join("").length, linked: 0, copied: 0 },
  }
  await writeFile(path.join(where, "manifest.json"), encodeManifest(manifest))
  return manifest
}

export const bucketIn = (prefix = "") =>
  Effect.acquireRelease(
    Effect.promise(() => startS3(prefix)),
    (s3) => Effect.promise(s3.stop),
  )
