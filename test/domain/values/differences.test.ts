import { describe, expect, it } from "vitest"
import { differences } from "../../../src/domain/values/differences.ts"
import { limits } from "../../../src/Limits.ts"

const all = (value: unknown, other: unknown) => differences(value, other, 1_000)
/** Compares texts of JSON. */
const parsed = (value: string, other: string) => all(JSON.parse(value), JSON.parse(other))

describe("differences", () => {
  it.each([
    ["the order of members", `{"a":1,"b":{"c":2,"d":3}}`, `{"b":{"d":3,"c":2},"a":1}`],
    ["the spelling of numbers", `{"a":[1,100,0.5,0]}`, `{"a":[1.0,1e2,5e-1,-0]}`],
    ["the spelling of texts", `{"a":"\\u00e9/"}`, `{"a":"é\\/"}`],
  ])("does not report %s", (_, value, other) => {
    expect(parsed(value, other)).toEqual([])
  })

  it("takes a member that is undefined as absent", () => {
    expect(all({ a: 1, b: undefined }, { a: 1 })).toEqual([])
    expect(all({ a: 1 }, { a: 1, b: undefined })).toEqual([])
    expect(all({ a: undefined }, { a: 1 })).toEqual(["/a"])
    expect(all({ a: 1 }, { a: undefined })).toEqual(["/a"])
  })

  it.each([
    [`{"a":{"b":1,"c":2}}`, `{"a":{"b":1,"c":3}}`, ["/a/c"]],
    [`{"a":1,"new":{"x":1}}`, `{"old":{"y":1},"a":1}`, ["/new", "/old"]],
    [`{"a":[1,2,3]}`, `{"a":[1,5]}`, ["/a/1", "/a/2"]],
    [`{"a":[]}`, `{"a":{}}`, ["/a"]],
    [`{"a":null}`, `{"a":{}}`, ["/a"]],
    [`{"a":null}`, `{}`, ["/a"]],
    [`{"a":"1"}`, `{"a":1}`, ["/a"]],
    [`{"a":[{"b":true}]}`, `{"a":[{"b":false}]}`, ["/a/0/b"]],
    [`{"a/b":{"c~d":1}}`, `{"a/b":{"c~d":2}}`, ["/a~1b/c~0d"]],
    [`{"":1}`, `{"":2}`, ["/"]],
  ])("of %s and %s are %j", (value, other, pointers) => {
    expect(parsed(value, other)).toEqual(pointers)
  })

  it("finds members with names that every object inherits", () => {
    expect(parsed(`{"constructor":1}`, `{}`)).toEqual(["/constructor"])
    expect(parsed(`{}`, `{"toString":1}`)).toEqual(["/toString"])
    expect(parsed(`{"__proto__":{"a":1}}`, `{"__proto__":{"a":2}}`)).toEqual(["/__proto__/a"])
    expect(parsed(`{"__proto__":{"a":1}}`, `{}`)).toEqual(["/__proto__"])
    expect(parsed(`{}`, `{"__proto__":{}}`)).toEqual(["/__proto__"])
  })

  it("ends after the given number of pointers, in objects, in lists and across both", () => {
    const value = { a: { b: 1, c: 2 }, d: [1, 2], e: 1 }
    const other = { a: {}, d: [], f: 1 }
    const every = ["/a/b", "/a/c", "/d/0", "/d/1", "/e", "/f"]
    for (let most = 0; most <= 7; most++) {
      expect(differences(value, other, most)).toEqual(every.slice(0, most))
    }
  })

  it("cuts keys that are longer than pointerKeyCharactersMax", () => {
    const key = "k".repeat(limits.pointerKeyCharactersMax)
    expect(all({ [key]: 1 }, {})).toEqual([`/${key}`])
    expect(all({ [`${key}k`]: 1 }, {})).toEqual([`/${key}…`])
  })
})
