import { describe, expect, it } from "@effect/vitest"
import { mergePatch } from "../../../src/domain/values/Metadata.ts"

describe("A merge patch", () => {
  // The cases of RFC 7396, appendix A, whose target and patch are objects.
  it.each([
    ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
    ['{"a":"b"}', '{"a":null}', "{}"],
    ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
    ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
    ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
    ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
    ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
    ["{}", '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
  ])("of %s with %s makes %s", (target, patch, expected) => {
    expect(JSON.stringify(mergePatch(JSON.parse(target), JSON.parse(patch)))).toBe(expected)
  })

  it("treats __proto__ like any other member, and leaves the target unchanged", () => {
    const target = JSON.parse('{"a":{"x":1}}')
    const patched = mergePatch(target, JSON.parse('{"__proto__":{"y":1},"a":{"x":2}}'))
    expect(JSON.stringify(patched)).toBe('{"a":{"x":2},"__proto__":{"y":1}}')
    expect(target).toEqual({ a: { x: 1 } })
    expect(({} as { y?: number }).y).toBeUndefined()
  })
})
