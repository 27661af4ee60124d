import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { encodeManifest, type Manifest } from "../../../src/storage/archive/ArchiveManifest.ts"
import {
  decodeIndex,
  encodeIndex,
  parseArchiveKey,
  pieceSum,
} from "../../../src/storage/bucket/BucketArchives.ts"
import { dataFormat } from "../../../src/storage/format.ts"

const piece = `${"ab".repeat(32)}-mhw1`
const manifest: Manifest = {
  ...{ format: dataFormat, id: "2026-11-21T12-00-00.000Z-7", recordedAt: null },
  ...{ createdAt: "2026-11-21T12:00:00.000Z", reason: "schedule", sequence: 7, checksum: 1 },
  ...{ watermark: 0, counts: {}, sums: {}, files: [] },
  segments: { linked: 0, copied: 0 },
}
const text = encodeManifest(manifest)
const files = [{ path: "live/data.mdb", pieces: [piece] }]

const wrapped = ({ files: others = files, manifest: other = text }): Buffer =>
  encodeIndex({ files: others, text: other })

describe("The object that lists an archive in a bucket", () => {
  it("has format 1", () => {
    const bytes = encodeIndex({ files, text })
    expect(JSON.parse(String(bytes))).toEqual({
      sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      archive: { format: 1, manifest: text, files },
    })
    expect(Result.getOrThrow(decodeIndex(bytes))).toEqual({ files, manifest, text })
  })

  it("is refused if it was changed or names files that no archive has", () => {
    const faultOf = (bytes: Buffer) => Result.getOrThrow(Result.flip(decodeIndex(bytes)))
    for (const changed of [
      "",
      "{}",
      "null",
      String(encodeIndex({ files, text })).replace("7", "8"),
    ])
      expect(faultOf(Buffer.from(changed))).toBe("is damaged")
    for (const path of ["../x", "/x", "snapshot/../../x", "snapshot/.x", "live/a/b", "x", ""]) {
      const none = wrapped({ files: [{ path, pieces: [piece] }] })
      expect([path, faultOf(none)]).toEqual([path, "is not one of Laurel's"])
    }
    for (const name of ["../x", piece.toUpperCase(), piece.slice(1), `${piece}/x`]) {
      expect(pieceSum(name)).toBeUndefined()
      const none = wrapped({ files: [{ path: "live/x", pieces: [name] }] })
      expect(faultOf(none)).toBe("is not one of Laurel's")
    }
    expect(faultOf(wrapped({ manifest: "{}" }))).toMatch(/./)
  })

  it("has a key with id, time and reason", () => {
    const id = "2026-11-21T12-00-00.000Z-7"
    expect(parseArchiveKey(`archives/${id}.request.json`)).toEqual({
      id,
      at: Date.parse("2026-11-21T12:00:00.000Z"),
      sequence: 7,
      reason: "request",
    })
    for (const key of [`archives/../${id}.request.json`, `archives/${id}.other.json`, "archives/"])
      expect(parseArchiveKey(key)).toBeUndefined()
  })
})
