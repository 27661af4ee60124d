import { describe, expect, it } from "vitest"
import type { Cause, Fact, JournalRecord } from "../../src/domain/Record.ts"
import { encodeRecord } from "../../src/engine/encodeRecord.ts"
import { Random, seeds } from "../simulation/random.ts"

const texts = [
  "",
  "ada",
  'quote " and \\',
  "line\nbreak",
  "ключ",
  "🦊".repeat(3),
  "\ud800",
  "\u2028",
  "__proto__",
]

const recordOf = (random: Random): JournalRecord => {
  const text = () => random.pick(texts)
  const maybe = <A>(value: A) => (random.chance(0.5) ? value : undefined)
  const number = () =>
    random.integer(-5, 5) * random.pick([1, 0.5, 1e15, Number.MAX_SAFE_INTEGER / 5])
  const metadata = JSON.parse(
    `{"__proto__":${JSON.stringify(text())},"a":[${number()},null,{"b":${JSON.stringify(text())}}]}`,
  )
  const causes: ReadonlyArray<Cause> = [
    {
      kind: "event",
      id: maybe(text()),
      action: "LESSON_DONE",
      occurredAt: maybe(number()),
      metadata: maybe(metadata),
      imported: maybe(true as const),
    },
    { kind: "reward", id: maybe(text()), type: "xp", amount: 5, reason: maybe(text()) },
    { kind: "request" },
    { kind: "tick" },
  ]
  const sources = ["reward", "criteria", { ruleId: "rul_1" }, { questId: "qst_1" }] as const
  const earned = { amount: number(), total: number(), source: random.pick(sources) }
  const window = <Name extends string>(name: Name) =>
    random.chance(0.5) ? { [name]: random.integer(-9, 9_999) } : {}
  const facts: ReadonlyArray<Fact> = [
    { kind: "user.created" },
    { kind: "xp.earned", ...earned },
    { kind: "points.earned", ...earned },
    {
      kind: "windows.credited",
      amount: number(),
      ...window("daily"),
      ...window("weekly"),
      ...window("monthly"),
    },
    { kind: "event.tracked", xp: number(), points: number(), level: 3 },
    { kind: "reward.granted", xp: number(), points: number(), level: 3 },
    { kind: "quest.repeated", questId: "qst_1", title: text(), period: 0 },
    { kind: "batch.answered", results: { text: text() } },
  ]
  const environment = random.pick(["prj_1:sandbox", "prj_2:production"])
  return {
    sequence: random.integer(1, 9_999_999),
    at: 1_795_256_826_571,
    subject: random.pick([
      { actor: "user", environment, userId: text() },
      { actor: "project", environment },
      { actor: "directory" },
    ]),
    cause: random.pick(causes),
    facts: facts.filter(() => random.chance(0.5)),
    ...(random.chance(0.3) && { kept: { key: text(), fingerprint: text() } }),
  }
}

describe("The journal's text of a record", () => {
  for (const seed of seeds(5)) {
    it(`is what JSON.stringify writes; again with LAUREL_TEST_SEED=${seed}`, () => {
      const random = new Random(seed)
      for (let n = 0; n < 2_000; n++) {
        const record = recordOf(random)
        expect(encodeRecord(record)).toBe(JSON.stringify(record))
      }
    })
  }
})
