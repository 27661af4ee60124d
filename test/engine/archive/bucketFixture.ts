/** Archives for a bucket, and the bucket. */
import { createHash } from "node:crypto"
import { mkdir, writeFile } from "node:fs/promises"
import path from "node:path"
import { Effect } from "effect"
import {
  archiveId,
  encodeManifest,
  type Manifest,
} from "../../../src/storage/archive/ArchiveManifest.ts"
import { dataFormat } from "../../../src/storage/format.ts"
import { segmentName } from "../../../src/storage/journal/SegmentFormat.ts"
import { startS3 } from "../../storage/bucket/server.ts"

export const sum = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex")
export const hour = 3_600_000
export const day = 24 * hour
export const noon = Date.parse("2026-11-21T12:00:00Z")

/** Puts an archive of these contents into a folder; the job looks at files, not at what they mean. */
export const archiveOf = async (
  folder: string,
  at: number,
  segments: ReadonlyArray<Buffer>,
  database: Buffer,
  sequence = 7,
): Promise<Manifest> => {
  const id = archiveId(at, sequence)
  const where = path.join(folder, id)
  for (const name of ["live", "journal"]) await mkdir(path.join(where, name), { recursive: true })
  const contents = new Map<string, Buffer>()
  for (const [n, bytes] of segments.entries()) contents.set(`journal/${segmentName(n + 1)}`, bytes)
  contents.set(`journal/${segmentName(1_000)}`, Buffer.from(`journal of ${id}`))
  contents.set("live/data.mdb", database)
  const files = []
  for (const [name, bytes] of contents) {
    await writeFile(path.join(where, name), bytes)
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
    segments: { linked: 0, copied: 0 },
  }
  await writeFile(path.join(where, "manifest.json"), encodeManifest(manifest))
  return manifest
}

export const bucketIn = (prefix = "") =>
  Effect.acquireRelease(
    Effect.promise(() => startS3(prefix)),
    (s3) => Effect.promise(s3.stop),
  )
