import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import {
  archiveId,
  decodeManifestText,
  encodeManifest,
  parseArchiveId,
} from "../../../src/storage/archive/ArchiveManifest.ts"
import { dataFormat, otherFormat } from "../../../src/storage/format.ts"
import { manifest } from "../manifest.ts"

describe("A manifest", () => {
  it("is read as it was written", () => {
    expect(decodeManifestText(encodeManifest(manifest))).toEqual(Result.succeed(manifest))
  })

  it("is known to be damaged when any one bit of its content has flipped", () => {
    const text = Buffer.from(encodeManifest(manifest))
    let noticed = 0
    for (let at = 0; at < text.length; at++) {
      for (let bit = 0; bit < 8; bit++) {
        const flipped = Buffer.from(text)
        flipped[at]! ^= 1 << bit
        const found = decodeManifestText(flipped.toString("utf8"))
        // White space between its parts has no meaning.
        if (Result.isSuccess(found)) expect(found.success).toEqual(manifest)
        else noticed++
      }
    }
    expect(noticed).toBeGreaterThan(text.length * 7)
  })

  it("is refused when it is cut short, empty, or something else", () => {
    const text = encodeManifest(manifest)
    for (const other of ["", "{}", "null", text.slice(0, -10), "[1]"]) {
      expect(decodeManifestText(other)).toEqual(Result.fail("is damaged"))
    }
    const strange = encodeManifest({ ...manifest, files: "none" } as never)
    expect(decodeManifestText(strange)).toEqual(Result.fail("is not one of Laurel's"))
  })

  it.each([-1, 1])("whose format differs by %i is distinguished from damage", (by) => {
    const format = dataFormat + by
    const other = encodeManifest({ ...manifest, format, more: true } as never)
    expect(decodeManifestText(other)).toEqual(Result.fail(otherFormat(format)))
  })
})

describe("The name of an archive", () => {
  it("tells when it was made and its last record, and sorts by time", () => {
    const at = Date.UTC(2026, 10, 21, 10, 0, 0, 123)
    expect(archiveId(at, 42)).toBe(manifest.id)
    expect(parseArchiveId(manifest.id)).toEqual({ at, sequence: 42 })
    expect(archiveId(at + 1, 1) > archiveId(at, 99)).toBe(true)
  })

  it("is distinguished from every other name", () => {
    for (const name of [
      "",
      "lost+found",
      `${manifest.id}.draft`,
      `${manifest.id}.removed`,
      `x${manifest.id}`,
      "2026-11-21T10-00-00.123Z-",
      "2026-11-21T10:00:00.123Z-42",
      "2026-13-41T10-00-00.123Z-42",
    ]) {
      expect(parseArchiveId(name)).toBeUndefined()
    }
  })
})
