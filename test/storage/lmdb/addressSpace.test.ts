import { describe, expect, it } from "vitest"
import { limits } from "../../../src/Limits.ts"
import { mapBytesOf, NoAddressSpace } from "../../../src/storage/lmdb/addressSpace.ts"

const mebibyte = 1_048_576
const { mapBytes, mapBytesMin, threadsMapBytes } = limits

describe("The address space of a database", () => {
  it("is the usual size if the process has no limit or enough for two databases", () => {
    for (const free of [Number.POSITIVE_INFINITY, threadsMapBytes + 2 * mapBytes]) {
      expect(mapBytesOf(0, free)).toBe(mapBytes)
    }
    expect(mapBytesOf(0, threadsMapBytes + 2 * mapBytes - 1)).toBe(mapBytes - mebibyte)
  })

  it("is half of the bytes that the threads leave, down to the minimum of a database", () => {
    expect(mapBytesOf(0, threadsMapBytes + 10 * mapBytesMin)).toBe(5 * mapBytesMin)
    const least = threadsMapBytes + 2 * mapBytesMin
    expect(mapBytesOf(0, least)).toBe(mapBytesMin)
    expect(() => mapBytesOf(0, least - 1)).toThrow(NoAddressSpace)
    expect(() => mapBytesOf(0, -1)).toThrow(/needs 3584 MiB .* leaves 0 MiB/)
  })

  it("has room for twice the data", () => {
    const data = 2 * mapBytesMin
    const least = threadsMapBytes + 4 * data
    expect(mapBytesOf(data, least)).toBe(2 * data)
    expect(() => mapBytesOf(data, least - 1)).toThrow(NoAddressSpace)
    expect(mapBytesOf(mapBytes, Number.MAX_SAFE_INTEGER)).toBe(2 * mapBytes)
  })
})
