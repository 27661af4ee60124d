/** The place where a text stops being JSON. */
import { describe, expect, it } from "vitest"
import { jsonFault } from "../../../src/http/body/jsonFault.ts"
import { randomOf, seeds } from "../../simulation/random.ts"

/** Whether a JSON text can begin with `text`, according to the message of `JSON.parse`. */
const isBeginning = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch (error) {
    const { message } = error as Error
    const position = / in JSON at position (\d+)/.exec(message)?.[1]
    return message === "Unexpected end of JSON input" || Number(position) >= text.length
  }
}

/** The index of the first character that is not valid JSON, found by trying each prefix. */
const tried = (text: string): number => {
  let at = 0
  while (at < text.length && isBeginning(text.slice(0, at + 1))) at++
  return at
}

describe("The place of a fault in JSON", () => {
  it.each([
    ['{"userId":"ada","action":}', 25],
    ['{"a":1,}', 7],
    ['{"a":tru}', 8],
    ['{"a":1}x', 7],
    ["[1,2", 4],
    ["[01]", 2],
    ["[1.]", 3],
    ["[-]", 2],
    ["[1e+]", 4],
    ['"\\u12x4"', 5],
    ['"\\x"', 2],
    ['"a\nb"', 2],
    ["nul", 3],
    ["", 0],
    ["[1 at position 0]", 3],
  ])("in %j is %i", (text, at) => {
    expect(jsonFault(text)).toBe(at)
    expect(tried(text)).toBe(at)
  })

  it.each(seeds(1))("is where JSON.parse stops to accept; LAUREL_TEST_SEED=%i", (seed) => {
    const random = randomOf(seed)
    const below = (bound: number): number => Math.floor(random() * bound)
    const samples = [
      '{"a":[1,-2.5e-3,{"b":null}],"c":"x\\u00e9\\n\\"","d":{}}',
      '[[],{"x":true}, false ,"",0,-0.0E+5]',
      ' {"userId":"ada","action":"TAP","metadata":{"deep":[[[1]]]}} ',
    ]
    const splinters = [...'{}[],:"\\ue+-.019tfn \n\t\u0001x', "\\u", "true", ""]
    let faults = 0
    for (let run = 0; run < 3_000; run++) {
      let text = samples[below(samples.length)]!
      for (let change = below(3); change >= 0; change--) {
        const at = below(text.length + 1)
        text = text.slice(0, at) + splinters[below(splinters.length)]! + text.slice(at + below(3))
      }
      const at = tried(text)
      if (at < text.length) faults++
      expect(jsonFault(text), text).toBe(at)
    }
    expect(faults).toBeGreaterThan(1_000)
  })

  it("is found in one pass, however deep the text is nested", () => {
    const deep = "[".repeat(1_000_000)
    expect(jsonFault(`${deep}}`)).toBe(1_000_000)
    expect(jsonFault(deep)).toBe(1_000_000)
  })
})
