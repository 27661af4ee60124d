import { describe, expect, it } from "vitest"
import { actionIndexOf } from "../../../src/domain/project/ActionIndex.ts"
import type { Condition, ConditionOperator } from "../../../src/domain/project/Definition.ts"
import { emptyProject } from "../../../src/domain/project/Project.ts"
import type { Fact } from "../../../src/domain/record/Record.ts"
import type { Metadata } from "../../../src/domain/values/Metadata.ts"
import { satisfies } from "../../simulation/model/conditions.ts"
import { Random, seeds } from "../../simulation/random.ts"
import { badgeWith, questWith, ruleWith, withFacts } from "../definitions.ts"

type Where = ReadonlyArray<Condition>

/** The definitions that the action TAP can concern. */
const entryOf = (facts: ReadonlyArray<Fact>) =>
  actionIndexOf(withFacts(emptyProject, facts), 0).byAction.get("TAP")!

const ruleFacts = (wheres: ReadonlyArray<Where>): ReadonlyArray<Fact> =>
  wheres.map((where, n) => ({ kind: "rule.created", rule: ruleWith({ id: `r${n}`, where }) }))

const questFacts = (wheres: ReadonlyArray<ReadonlyArray<Where>>): ReadonlyArray<Fact> =>
  wheres.map((steps, n) => ({
    kind: "quest.created",
    quest: questWith({
      id: `q${n}`,
      steps: steps.map((where, step) => ({ key: `s${step}`, action: "TAP", where, target: 1 })),
    }),
  }))

const badgeFacts = (wheres: ReadonlyArray<Where>): ReadonlyArray<Fact> =>
  wheres.map((where, n) => ({
    kind: "badge.created",
    badge: badgeWith({
      id: `b${n}`,
      criteria: { kind: "action_count", action: "TAP", where, target: 1 },
    }),
  }))

const eq = (path: string, value: string | number): Condition => ({ path, op: "eq", value })
const times = <A>(count: number, make: (n: number) => A): ReadonlyArray<A> =>
  Array.from({ length: count }, (_, n) => make(n))

describe("The definitions that an event concerns", () => {
  for (const seed of seeds(3)) {
    it(`are those whose conditions all hold as they read, in the order of creation; again with LAUREL_TEST_SEED=${seed}`, () => {
      const random = new Random(seed)
      const scalars = [0, 1, -1.5, "", "1", "a", "ab", true, false, null] as const
      const paths = ["a", "b", "a.b", "a.0", "constructor.name", "__proto__", "a.length", "c"]
      const operators: ReadonlyArray<ConditionOperator> = [
        ...(["eq", "eq", "eq", "in", "in", "ne", "gt", "gte", "lt", "lte"] as const),
        ...(["exists", "contains"] as const),
      ]
      const condition = (): Condition => {
        const op = random.pick(operators)
        const path = random.pick(paths)
        if (op === "exists") return random.chance(0.5) ? { path, op } : { path, op, value: false }
        const length = random.integer(0, 12)
        const value = op === "in" ? times(length, () => random.pick(scalars)) : random.pick(scalars)
        return { path, op, value }
      }
      const where = (): Where => times(random.pick([0, 1, 1, 2, 2, 3]), condition)
      const anything = (depth: number): unknown => {
        const kind = random.next()
        if (depth === 0 || kind < 0.6) return random.pick(scalars)
        return kind < 0.8
          ? times(random.integer(0, 3), () => anything(depth - 1))
          : object(depth - 1)
      }
      const object = (depth: number): Metadata =>
        Object.fromEntries(
          ["a", "b", "name", "constructor", "__proto__"]
            .filter(() => random.chance(0.6))
            .map((key) => [key, anything(depth)]),
        )
      for (let round = 0; round < 60; round++) {
        const rules = times(random.integer(0, 30), where)
        const quests = times(random.integer(0, 10), () => times(random.integer(1, 3), where))
        const badges = times(random.integer(0, 10), where)
        const entry = entryOf([
          ...ruleFacts([[], ...rules]),
          ...questFacts(quests),
          ...badgeFacts(badges),
        ])
        for (let event = 0; event < 20; event++) {
          const metadata = random.chance(0.1) ? undefined : object(2)
          const found = entry.matching(metadata)
          const named = {
            rules: found.rules.map(({ id }) => id),
            steps: found.steps.map(({ quest, steps }) => [
              quest.id,
              ...steps.map(({ key }) => key),
            ]),
            badges: found.badges.map(({ badge }) => badge.id),
          }
          const those = (prefix: string, wheres: ReadonlyArray<Where>) =>
            wheres.flatMap((one, n) => (satisfies(one, metadata) ? [`${prefix}${n}`] : []))
          expect({ metadata, ...named }).toEqual({
            metadata,
            rules: those("r", [[], ...rules]),
            steps: quests.flatMap((steps, n) => {
              const satisfied = those("s", steps)
              return satisfied.length === 0 ? [] : [[`q${n}`, ...satisfied]]
            }),
            badges: those("b", badges),
          })
        }
      }
    })
  }

  it("are found at the cost of one where thousands ask for other values of the same path", () => {
    const work = (count: number, where: (n: number) => Where, metadata: Metadata) => {
      const wheres = times(count, where)
      const entry = entryOf([
        ...ruleFacts(wheres),
        ...questFacts(wheres.map((one) => [one])),
        ...badgeFacts(wheres),
      ])
      const { badges, rules, steps, work } = entry.matching(metadata)
      expect([rules, steps, badges].map(({ length }) => length)).toEqual([1, 1, 1])
      return work
    }
    const metadata = { sku: 0, kind: "book", tags: ["new"] }
    const shapes: ReadonlyArray<(n: number) => Where> = [
      (n) => [eq("sku", n)],
      (n) => [{ path: "sku", op: "in", value: [n, `${n}`] }],
      // The one that fewest have, wherever it stands.
      (n) => [eq("kind", "book"), { path: "tags", op: "contains", value: "new" }, eq("sku", n)],
    ]
    for (const shape of shapes) {
      expect(work(1_000, shape, metadata)).toBe(work(1, shape, metadata))
    }
  })

  it("evaluate a condition that thousands have once, and look its path up once", () => {
    let looked = 0
    const metadata = {
      get amount() {
        looked++
        return 5
      },
    }
    const where: Where = [
      { path: "amount", op: "gte", value: 3 },
      { path: "amount", op: "lt", value: 9 },
    ]
    const entry = entryOf([
      ...ruleFacts(times(1_000, () => where.map((one) => ({ ...one })))),
      ...badgeFacts([where]),
    ])
    const { badges, rules, work } = entry.matching(metadata)
    expect([rules.length, badges.length, looked]).toEqual([1_000, 1, 1])
    // Each of the definitions, and the two conditions.
    expect(work).toBe(1_001 + 2)
  })

  it("take more work the more text is looked through", () => {
    const where: Where = [{ path: "note", op: "contains", value: "x" }]
    const entry = entryOf(ruleFacts([where]))
    const work = (note: unknown) => entry.matching({ note }).work
    expect([work("x"), work("y".repeat(640)), work(times(640, () => "y")), work(3)]).toEqual([
      2, 42, 42, 2,
    ])
  })

  it("are found for each event independently of the previous one", () => {
    const entry = entryOf(
      ruleFacts([[eq("a", 1)], [{ path: "a", op: "exists", value: false }], [eq("b.c", 2)]]),
    )
    const idsOf = (metadata: Metadata | undefined) =>
      entry.matching(metadata).rules.map(({ id }) => id)
    expect(idsOf({ a: 1, b: { c: 2 } })).toEqual(["r0", "r2"])
    expect(idsOf(undefined)).toEqual(["r1"])
    expect(idsOf({ a: 2, b: [] })).toEqual([])
    expect(idsOf({ a: 1 })).toEqual(["r0"])
  })

  it("are right after each of many changes, of rules, quests and badges", () => {
    const random = new Random(7)
    const where = (): Where =>
      times(random.integer(0, 2), () => ({
        path: random.pick(["a", "b"]),
        op: random.pick(["eq", "ne", "gte", "in"] as const),
        value: random.integer(0, 3),
      })).map((one) => (one.op === "in" ? { ...one, value: [one.value, 0] } : one))
    let project = emptyProject
    const wheres = new Map<string, Where>()
    for (let change = 0; change < 3_000; change++) {
      const n = random.integer(0, 5)
      const made = where()
      const prefix = random.pick(["r", "q", "b"])
      const [ofRule] = ruleFacts([made])
      const [ofQuest] = questFacts([[made]])
      const [ofBadge] = badgeFacts([made])
      const fact = { r: ofRule, q: ofQuest, b: ofBadge }[prefix] as Fact
      const id = `${prefix}${n}`
      const named = JSON.parse(JSON.stringify(fact).replace(`"${prefix}0"`, `"${id}"`))
      const isGone = random.chance(0.2)
      const { kind, ...rest } = named
      const [noun, definition] = Object.entries<object>(rest)[0]!
      const gone = { kind, [noun]: { ...definition, set: "archived" } } as unknown as Fact
      const facts: ReadonlyArray<Fact> = [isGone ? gone : named]
      if (isGone) wheres.delete(id)
      else wheres.set(id, made)
      project = withFacts(project, facts)
      const metadata = { a: random.integer(0, 3), b: random.integer(0, 3) }
      const found = actionIndexOf(project, 0).byAction.get("TAP")?.matching(metadata)
      const ids = [
        ...(found?.rules ?? []).map(({ id }) => id),
        ...(found?.steps ?? []).map(({ quest }) => quest.id),
        ...(found?.badges ?? []).map(({ badge }) => badge.id),
      ]
      const expected = [...wheres].filter(([, one]) => satisfies(one, metadata)).map(([id]) => id)
      expect({ change, ids: ids.sort() }).toEqual({ change, ids: expected.sort() })
    }
  })

  it("are compiled alone when they change, however many others exist", () => {
    let compiled = 0
    const counted = (n: number): Condition => ({
      get path() {
        compiled++
        return "a"
      },
      op: "gte",
      value: n,
    })
    const rules = times(500, (n) => ruleWith({ id: `r${n}`, where: [counted(n)] }))
    let project = withFacts(
      emptyProject,
      rules.map((rule): Fact => ({ kind: "rule.created", rule })),
    )
    const match = () =>
      actionIndexOf(project, 0).byAction.get("TAP")?.matching({ a: 1 }).rules.length
    expect([match(), compiled]).toEqual([2, 500])
    for (const n of [0, 1, 250, 499]) {
      compiled = 0
      const rule = ruleWith({ id: `r${n}`, where: [counted(0)] })
      project = withFacts(project, [{ kind: "rule.updated", rule }])
      match()
      expect(compiled).toBe(1)
    }
    expect(match()).toBe(4)
  })

  it("keep a bounded number of unused conditions", () => {
    let compiled = 0
    const constant: Condition = {
      get path() {
        compiled++
        return "a"
      },
      op: "exists",
    }
    let project = emptyProject
    const set = (id: string, where: Where) => {
      project = withFacts(project, [{ kind: "rule.updated", rule: ruleWith({ id, where }) }])
    }
    set("constant", [constant])
    for (let n = 0; n < 3_500; n++) {
      set("changing", [{ path: "b", op: "gte", value: n }])
      actionIndexOf(project, 0).byAction.get("TAP")?.matching({ a: 1 })
    }
    // With the first, and each time that more than a thousand had gathered.
    expect(compiled).toBe(1 + 3)
  })
})
