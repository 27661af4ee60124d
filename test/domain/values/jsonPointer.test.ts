/** The examples of RFC 6901, section 5, and what a value does not have. */
import { describe, expect, it } from "vitest"
import {
  jsonPointerPattern,
  pointerFault,
  valueAt,
} from "../../../src/domain/values/jsonPointer.ts"
import { limits } from "../../../src/Limits.ts"

const document = {
  foo: ["bar", "baz"],
  "": 0,
  "a/b": 1,
  "c%d": 2,
  "e^f": 3,
  "g|h": 4,
  "i\\j": 5,
  'k"l': 6,
  " ": 7,
  "m~n": 8,
}

describe("A JSON Pointer of a definition", () => {
  it("has the form of a pointer, and at most some names", () => {
    for (const pointer of ["data/id", "/~", "/a~2", "/~~0"]) {
      expect(pointerFault(pointer)).toMatch(/must be a JSON Pointer/)
    }
    expect(pointerFault("")).toBeUndefined()
    expect(pointerFault("/a".repeat(limits.pointerTokensMax))).toBeUndefined()
    expect(pointerFault("/a".repeat(limits.pointerTokensMax + 1))).toMatch(/at most/)
  })
})

describe("A JSON Pointer", () => {
  it.each([
    ["", document],
    ["/foo", ["bar", "baz"]],
    ["/foo/0", "bar"],
    ["/", 0],
    ["/a~1b", 1],
    ["/c%d", 2],
    ["/e^f", 3],
    ["/g|h", 4],
    ["/i\\j", 5],
    ['/k"l', 6],
    ["/ ", 7],
    ["/m~0n", 8],
  ])("%s has the value that RFC 6901 gives", (pointer, value) => {
    expect(jsonPointerPattern.test(pointer)).toBe(true)
    expect(valueAt(document, pointer)).toEqual(value)
  })

  it.each([
    "/foo/2",
    "/foo/01",
    "/foo/-",
    "/foo/length",
    "/foo/0/0",
    "/constructor",
    "/foo/0/length",
  ])("%s finds nothing in a document without such a value", (pointer) => {
    expect(valueAt(document, pointer)).toBeUndefined()
  })

  it.each(["foo", "/~", "/a~2b", "a/"])("%s is no pointer", (text) => {
    expect(jsonPointerPattern.test(text)).toBe(false)
  })
})
