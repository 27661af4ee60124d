import { describe, expect, it } from "vitest"
import {
  type Condition,
  type ConditionOperator,
  type ConditionValue,
  compileWhere,
} from "../../../src/domain/project/Definition.ts"
import type { Metadata } from "../../../src/domain/values/Metadata.ts"
import { satisfies } from "../../simulation/model/conditions.ts"
import { Random, seeds } from "../../simulation/random.ts"

const holds = (conditions: ReadonlyArray<Condition>, metadata: Metadata | undefined): boolean =>
  compileWhere(conditions)(metadata)

const metadata: Metadata = {
  amount: 20,
  zero: 0,
  price: 19.99,
  country: "DE",
  empty: "",
  at: "2026-11-01",
  nothing: null,
  yes: true,
  no: false,
  tags: ["new", 7, null],
  cart: { total: 42, items: [{ price: 5 }, { price: 6 }], "a.b": 1 },
}

type Row = readonly [
  path: string,
  op: ConditionOperator,
  value: ConditionValue | undefined,
  holds: boolean,
]

const table: ReadonlyArray<Row> = [
  // Whether something is there; null is something.
  ["amount", "exists", undefined, true],
  ["amount", "exists", true, true],
  ["amount", "exists", false, false],
  ["missing", "exists", undefined, false],
  ["missing", "exists", false, true],
  ["nothing", "exists", true, true],
  ["empty", "exists", true, true],
  // Paths: members, and places in lists; only what the JSON has.
  ["cart.total", "eq", 42, true],
  ["cart.items.1.price", "eq", 6, true],
  ["cart.items.2.price", "exists", false, true],
  ["cart.items.01.price", "exists", false, true],
  ["cart.total.more", "exists", false, true],
  ["nothing.more", "exists", false, true],
  ["country.0", "exists", false, true],
  ["constructor", "exists", false, true],
  ["__proto__", "exists", false, true],
  ["cart.hasOwnProperty", "exists", false, true],
  ["country.length", "exists", false, true],
  ["tags.length", "exists", false, true],
  // Equal: the same value of the same kind.
  ["amount", "eq", 20, true],
  ["amount", "eq", "20", false],
  ["country", "eq", "DE", true],
  ["country", "eq", "de", false],
  ["yes", "eq", true, true],
  ["yes", "eq", 1, false],
  ["zero", "eq", false, false],
  ["nothing", "eq", null, true],
  ["missing", "eq", null, false],
  ["cart", "eq", null, false],
  // Not equal: also what is not there.
  ["amount", "ne", 20, false],
  ["amount", "ne", 21, true],
  ["amount", "ne", "20", true],
  ["missing", "ne", 20, true],
  ["cart", "ne", 20, true],
  // In order: numbers with numbers, texts with texts.
  ["amount", "gt", 19, true],
  ["amount", "gt", 20, false],
  ["amount", "gte", 20, true],
  ["amount", "lt", 20, false],
  ["amount", "lte", 20, true],
  ["price", "lt", 20, true],
  ["zero", "gte", 0, true],
  ["amount", "gt", "1", false],
  ["amount", "lt", "9", false],
  ["at", "gte", "2026-11-01", true],
  ["at", "lt", "2026-12-01", true],
  ["at", "gt", 0, false],
  ["yes", "gt", 0, false],
  ["nothing", "lte", 0, false],
  ["tags", "gt", 0, false],
  ["missing", "lt", 1, false],
  ["missing", "gte", 0, false],
  // In a list.
  ["country", "in", ["AT", "DE"], true],
  ["country", "in", ["AT"], false],
  ["country", "in", [], false],
  ["nothing", "in", [null], true],
  ["missing", "in", [null], false],
  ["amount", "in", ["20"], false],
  // Containing: a text has a text, a list has a value.
  ["country", "contains", "D", true],
  ["country", "contains", "", true],
  ["country", "contains", "d", false],
  ["tags", "contains", "new", true],
  ["tags", "contains", "ne", false],
  ["tags", "contains", 7, true],
  ["tags", "contains", "7", false],
  ["tags", "contains", null, true],
  ["amount", "contains", 2, false],
  ["cart", "contains", 42, false],
  ["missing", "contains", "", false],
]

describe("A condition", () => {
  for (const [path, op, value, expected] of table) {
    const shown = value === undefined ? "" : ` ${JSON.stringify(value)}`
    it(`${path} ${op}${shown} ${expected ? "holds" : "does not hold"}`, () => {
      expect(holds([{ path, op, ...(value !== undefined && { value }) }], metadata)).toBe(expected)
    })
  }

  it("without metadata finds nothing", () => {
    expect(holds([{ path: "amount", op: "exists" }], undefined)).toBe(false)
    expect(holds([{ path: "amount", op: "ne", value: 1 }], undefined)).toBe(true)
  })

  it("holds with others only where all do, and without any always", () => {
    const here: Condition = { path: "amount", op: "exists" }
    const gone: Condition = { path: "missing", op: "exists" }
    expect(holds([], undefined)).toBe(true)
    expect(holds([here, here], metadata)).toBe(true)
    expect(holds([here, gone], metadata)).toBe(false)
  })

  for (const seed of seeds(1)) {
    it(`is what the naive reading makes of it; again with LAUREL_TEST_SEED=${seed}`, () => {
      const random = new Random(seed)
      const scalars = [0, 1, 1.5, -1, "", "1", "a", "ab", true, false, null] as const
      const operators = [...new Set(table.map(([, op]) => op))]
      const paths = ["a", "b", "a.b", "a.0", "a.b.0", "b.a", "a.length"]
      const anything = (depth: number): unknown => {
        const kind = random.next()
        if (depth === 0 || kind < 0.5) return random.pick(scalars)
        if (kind < 0.75)
          return Array.from({ length: random.integer(0, 3) }, () => anything(depth - 1))
        return Object.fromEntries(
          ["a", "b"].filter(() => random.chance(0.7)).map((key) => [key, anything(depth - 1)]),
        )
      }
      for (let round = 0; round < 20_000; round++) {
        const given = { a: anything(2), b: anything(2) }
        const op = random.pick(operators)
        const list = Array.from({ length: random.integer(0, 3) }, () => random.pick(scalars))
        const value =
          op === "in" ? list : op === "exists" ? random.chance(0.5) : random.pick(scalars)
        const condition = { path: random.pick(paths), op, value }
        expect({ condition, given, holds: holds([condition], given) }).toEqual({
          condition,
          given,
          holds: satisfies([condition], given),
        })
      }
    })
  }
})
