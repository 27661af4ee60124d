import { describe, expect, it } from "@effect/vitest"
import { type DirectoryState, emptyDirectory } from "../../../src/domain/project/Directory.ts"
import { emptyProject, type ProjectState } from "../../../src/domain/project/Project.ts"
import type { Fact } from "../../../src/domain/record/Record.ts"
import {
  decodeDirectory,
  decodeProject,
  encodeDirectory,
  encodeProject,
} from "../../../src/engine/records/Codec.ts"
import { badgeWith, questWith, ruleWith, streakWith, withFacts } from "../../domain/definitions.ts"

const through = (project: ProjectState): ProjectState =>
  decodeProject(Buffer.from(encodeProject(project)))

const after = (...facts: ReadonlyArray<Fact>): ProjectState =>
  facts.reduce(
    (project, fact, index) => withFacts(project, [fact], index + 1, 1_790_000_000_000 + index),
    emptyProject,
  )

const where = [
  { path: "a.b", op: "in", value: ["x", 1.5, null, true] },
  { path: "c", op: "exists" },
] as const

describe("A project's value in the snapshot", () => {
  it("restores the state of a new project", () => {
    expect(through(emptyProject)).toEqual(emptyProject)
  })

  it("restores the whole state, with the order of definitions", () => {
    const step = { key: "k", action: "TAP", where, target: 3 }
    const rich = questWith({
      id: "z",
      title: "Über \u{1f600}\u2028",
      steps: [step],
      startsAt: 5,
      recurrence: "weekly",
      prerequisites: ["a"],
      metadata: JSON.parse('{"__proto__":{"x":null},"list":[1,{"y":[]}]}'),
    })
    const project = after(
      { kind: "quest.created", quest: rich },
      { kind: "quest.created", quest: questWith({ id: "a", endsAt: 7 }) },
      { kind: "quest.updated", quest: { ...rich, set: "archived" } },
      { kind: "quest.created", quest: questWith({ id: "__proto__" }) },
      {
        kind: "rule.created",
        rule: ruleWith({
          where,
          multiplier: { path: "n", min: 0.5, max: 1e6 },
          limit: { times: 2, per: "month" },
          cooldownSeconds: 9,
        }),
      },
      {
        kind: "badge.created",
        badge: badgeWith({ criteria: { kind: "streak", target: 5, streak: null } }),
      },
      { kind: "badge.updated", badge: badgeWith({ id: "old", set: "archived" }) },
      {
        kind: "project.updated",
        settings: {
          version: 1,
          name: null,
          timezone: "Europe/Berlin",
          levelCurve: { kind: "geometric", base: 100, factor: 1.1 },
        },
      },
      {
        kind: "streak.created",
        streak: streakWith({
          needs: [{ action: "TAP", target: 2 }],
          freezes: { initial: 1, max: 3, everyDays: null },
        }),
      },
      {
        kind: "leaderboard.window_closed",
        window: "daily",
        index: 20_000,
        startsAt: 0,
        endsAt: 1,
        total: 5,
      },
      { kind: "backfill.started", definitionId: "bdg_1", notify: true },
      { kind: "backfill.finished", definitionId: "bdg_1", checked: 10, awarded: 2 },
      { kind: "backfill.started", definitionId: "other", notify: false },
    )
    const read = through(project)
    expect(read).toEqual(project)
    expect([...read.quests.keys()]).toEqual(["a", "z", "__proto__"])
    expect(encodeProject(read)).toBe(encodeProject(project))
  })
})

describe("The directory's value in the snapshot", () => {
  const through = (directory: DirectoryState): DirectoryState =>
    decodeDirectory(Buffer.from(encodeDirectory(directory)))

  it("restores the state with accounts, sessions and invitations", () => {
    const access = { owner: true, projects: [] }
    const directory: DirectoryState = {
      ...emptyDirectory,
      sequence: 7,
      accounts: new Map([
        [
          "acc_1",
          {
            id: "acc_1",
            email: "ada@example.com",
            name: "Ada \u{1f600}",
            password: null,
            passkeys: [],
            access,
            createdAt: 1,
          },
        ],
      ]),
      sessions: new Map([
        [
          "ses_1",
          {
            id: "ses_1",
            accountId: "acc_1",
            hash: "00",
            agent: "Firefox",
            address: "::1",
            createdAt: 1,
            usedAt: 2,
            confirmedAt: 1,
          },
        ],
      ]),
      invitations: new Map([
        [
          "inv_1",
          {
            id: "inv_1",
            purpose: "join",
            hash: "11",
            accountId: null,
            email: null,
            access,
            createdBy: null,
            createdAt: 1,
            expiresAt: 9,
          },
        ],
      ]),
    }
    expect(through(directory)).toEqual(directory)
  })
})
