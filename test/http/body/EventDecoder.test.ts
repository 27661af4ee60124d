import { Result, SchemaParser } from "effect"
import { describe, expect, it } from "vitest"
import { Event } from "../../../src/http/api/Events.ts"
import { decodeEvent, isPlainEvent } from "../../../src/http/body/EventDecoder.ts"
import { randomOf, seeds } from "../../simulation/random.ts"

const strict = { errors: "all", onExcessProperty: "error" } as const
const accepts = SchemaParser.decodeUnknownResult(Event, strict)

class Generator {
  readonly #random: () => number

  constructor(seed: number) {
    this.#random = randomOf(seed)
  }

  pick<A>(items: ReadonlyArray<A>): A {
    return items[Math.floor(this.#random() * items.length)]!
  }

  chance(probability: number): boolean {
    return this.#random() < probability
  }

  text(): string {
    const pieces = [
      "a",
      "Z",
      "_",
      ".",
      "0",
      " ",
      "/",
      "ü",
      "😀",
      "\u0000",
      "\n",
      "\u009f",
      "\ud800",
      "~",
      "",
    ]
    let text = ""
    const length = this.pick([0, 1, 2, 3, 63, 64, 65, 127, 128, 129])
    const piece = this.pick(pieces)
    for (let i = 0; i < length; i++) text += this.chance(0.02) ? this.pick(pieces) : piece
    return text
  }

  json(depth: number): unknown {
    if (depth === 0 || this.chance(0.5)) {
      return this.pick<unknown>([this.text(), 0, -1.5, 1e300, true, null, "x".repeat(3_000)])
    }
    const items = Array.from({ length: this.pick([0, 1, 1, 2]) }, () => this.json(depth - 1))
    return this.chance(0.5)
      ? items
      : Object.fromEntries(
          items.map((item, i) => [this.pick(["a", "__proto__", "b", this.text()]) + i, item]),
        )
  }

  time(): string {
    const two = (values: ReadonlyArray<number>) => String(this.pick(values)).padStart(2, "0")
    const date = `${this.pick(["2026", "2024", "0000", "26"])}-${two([0, 1, 2, 12, 13])}-${two([0, 1, 28, 29, 30, 31, 32])}`
    const time = `${two([0, 23, 24])}:${two([0, 59, 60])}:${two([0, 59, 60])}`
    return `${date}${this.pick(["T", " ", "t"])}${time}${this.pick(["", ".1", ".123456"])}${this.pick(["Z", "+01:00", "-24:00", "", "z"])}`
  }

  event(): unknown {
    if (this.chance(0.03)) return this.json(2)
    const event: Record<string, unknown> = {}
    const members: ReadonlyArray<readonly [string, () => unknown]> = [
      ["userId", () => (this.chance(0.5) ? "user-1" : this.text())],
      ["action", () => (this.chance(0.7) ? "LESSON_DONE" : this.text())],
      ["metadata", () => (this.chance(0.1) ? this.json(2) : { value: this.json(9) })],
      ["id", () => this.text()],
      ["occurredAt", () => this.time()],
    ]
    for (const [name, value] of members) {
      const required = name === "userId" || name === "action"
      if (this.chance(required ? 0.97 : 0.3))
        event[name] = this.chance(0.97) ? value() : this.json(1)
    }
    if (this.chance(0.05)) event[this.pick(["usrId", "__proto__x", "constructor", ""])] = 1
    return event
  }
}

describe("the structural check of events", () => {
  // The decoder passes all that the Schema accepts.
  it.each(seeds(1))("passes only what the Schema accepts; LAUREL_TEST_SEED=%i", (seed) => {
    const generator = new Generator(seed)
    let passed = 0
    let accepted = 0
    for (let run = 0; run < 20_000; run++) {
      // Converted through JSON, as a request is.
      const value: unknown = JSON.parse(JSON.stringify(generator.event()))
      const bySchema = Result.isSuccess(accepts(value))
      if (bySchema) accepted++
      if (Result.isSuccess(decodeEvent(value, "", 100)) !== bySchema) {
        throw new Error(`The Schema says ${bySchema} of ${JSON.stringify(value)}`)
      }
      if (!isPlainEvent(value)) continue
      passed++
      if (!bySchema) throw new Error(`Passed, but not accepted: ${JSON.stringify(value)}`)
    }
    // The comparison covers accepted and refused events.
    expect(passed).toBeGreaterThan(1_000)
    expect(accepted).toBeGreaterThan(passed)
    expect(accepted).toBeLessThan(19_000)
  })

  it("accepts ordinary events", () => {
    const event = {
      userId: "user-42",
      action: "LESSON_DONE",
      metadata: { lesson: "intro", score: 93, tags: ["a", { b: null }] },
      id: "e-1",
      occurredAt: "2026-11-01T09:30:00.000+01:00",
    }
    expect(isPlainEvent(event)).toBe(true)
    expect(decodeEvent(event, "", 10)).toEqual(
      Result.succeed({ ...event, occurredAt: Date.UTC(2026, 10, 1, 8, 30) }),
    )
  })

  it("passes on metadata unchanged, including __proto__", () => {
    const value = JSON.parse('{"userId":"ü","action":"A","metadata":{"__proto__":{"x":1}}}')
    expect(isPlainEvent(value)).toBe(false)
    const decoded = decodeEvent(value, "", 10)
    expect(Result.isSuccess(decoded) && decoded.success.metadata).toBe(value.metadata)
    expect(Object.keys(value.metadata)).toEqual(["__proto__"])
  })
})
