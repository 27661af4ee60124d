/** A manifest with a value for everything. */
import type { Manifest } from "../../src/storage/archive/ArchiveManifest.ts"
import { dataFormat } from "../../src/storage/format.ts"

export const manifest: Manifest = {
  format: dataFormat,
  id: "2026-11-21T10-00-00.123Z-42",
  createdAt: "2026-11-21T10:00:00.123Z",
  recordedAt: "2026-11-21T09:59:59.999Z",
  reason: "schedule",
  sequence: 42,
  checksum: 4_294_967_295,
  watermark: 40,
  counts: { users: 3, records: 41 },
  sums: { xp: "9007199254740993" },
  files: [
    { path: "journal/00000000000000000001.segment", bytes: 99, sha256: "0f", modifiedMs: 1.5 },
    { path: "live/data.mdb", bytes: 12_288, sha256: "00ff" },
  ],
  segments: { linked: 1, copied: 0 },
}
