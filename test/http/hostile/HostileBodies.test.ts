/** No body makes the server visit more than a valid body could hold. */
import { expect, it } from "vitest"
import { batchEnvelope } from "../../../src/http/body/BatchDecoder.ts"
import { eventItems } from "../../../src/http/body/EventDecoder.ts"
import { inputDecoder } from "../../../src/http/body/InputDecoder.ts"
import { limits } from "../../../src/Limits.ts"
import { randomOf, seeds } from "../../simulation/random.ts"
import { hostileBodies } from "./HostileBodies.ts"
import { watched } from "./visits.ts"

const strict = { errors: "all", onExcessProperty: "error" } as const
const [seed = 1] = seeds(1)

/** This test runs one in so many bodies; `npm run test:hostile` runs all. */
const share = 41

/** Metadata at its limit is walked twice. Lists and records of a schema may hold less. */
const visitsMax = 2 * limits.metadataBytesMax

it(`of all hostile bodies a bounded part is looked at (LAUREL_TEST_SEED=${seed})`, () => {
  let bodies = 0
  let most = 0
  const tooMuch: Array<string> = []
  for (const { bytesMax, name, operation, schema, text } of hostileBodies(randomOf(seed))) {
    if (bytesMax > limits.bodyBytesMax || bodies++ % share !== seed % share) continue
    const body = text()
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(bytesMax)
    let parsed: unknown
    try {
      parsed = JSON.parse(body)
    } catch {
      continue
    }
    const { value, visits } = watched(parsed)
    inputDecoder(schema, strict)(value, "", limits.faultsMax)
    most = Math.max(most, visits())
    if (visits() > visitsMax) tooMuch.push(`${operation} ${name}: ${visits()}`)
  }
  expect(tooMuch).toEqual([])
  expect(bodies).toBeGreaterThan(1_000)
  expect(most).toBeGreaterThan(0)
})

it("Each step of decoding a hostile batch parses a bounded part", () => {
  const real = JSON.parse
  let longest = 0
  JSON.parse = (text: string) => {
    longest = Math.max(longest, text.length)
    return real(text)
  }
  try {
    let bodies = 0
    for (const { operation, text } of hostileBodies(randomOf(seed))) {
      // Both operations with batches use the same decoder.
      if (operation !== "events.trackBatch" || bodies++ % share !== seed % share) continue
      const step = batchEnvelope(eventItems, Buffer.from(text()))
      for (let result = step(); result === undefined; result = step()) {}
    }
    expect(longest).toBeGreaterThan(0)
    expect(longest).toBeLessThanOrEqual(limits.eventBytesMax + limits.decodeStepBytes + 2)
  } finally {
    JSON.parse = real
  }
})
