import { describe, expect, it } from "@effect/vitest"
import { Result } from "effect"
import type { Access, Asker } from "../../../src/domain/accounts/Account.ts"
import { type DirectoryCommand, decideDirectory } from "../../../src/domain/decide/Directory.ts"
import type { KeyCommand } from "../../../src/domain/decide/decideKeys.ts"
import {
  type ApiKey,
  type DirectoryState,
  emptyDirectory,
  isKeyInForce,
  type RotationOverlap,
} from "../../../src/domain/project/Directory.ts"
import { applyDirectory } from "../../../src/domain/record/applyDirectory.ts"
import type { Fact } from "../../../src/domain/record/Record.ts"
import { decodeDirectory, encodeDirectory } from "../../../src/engine/records/Codec.ts"
import { limits } from "../../../src/Limits.ts"

const hour = 3_600_000
const day = 24 * hour

type CreateKey = Extract<KeyCommand, { kind: "createKey" }>

const create = (
  id: string,
  more: Partial<CreateKey["key"]> = {},
  by: Asker = "operator",
  projectName = "shop",
): CreateKey => ({
  kind: "createKey",
  by,
  projectId: `prj_${projectName}`,
  projectName,
  key: {
    id: `key_${id}`,
    environment: "sandbox",
    scope: "full",
    hash: `hash of ${id}`,
    hint: "lk_test_abc",
    ...more,
  },
})

const rotate = (
  id: string,
  successor: string,
  overlap: RotationOverlap = "24h",
  by: Asker = "operator",
): DirectoryCommand => ({
  kind: "rotateKey",
  by,
  keyId: `key_${id}`,
  overlap,
  key: { id: `key_${successor}`, hash: `hash of ${successor}`, hint: "lk_test_xyz" },
})

const revoke = (id: string, by: Asker = "operator"): DirectoryCommand => ({
  kind: "revokeKey",
  by,
  keyId: `key_${id}`,
})

const fold = (state: DirectoryState, facts: ReadonlyArray<Fact>, at: number): DirectoryState =>
  applyDirectory(state, {
    sequence: state.sequence + 1,
    at,
    subject: { actor: "directory" },
    cause: { kind: "request" },
    facts,
  })

const decide = (state: DirectoryState, command: DirectoryCommand, at: number) =>
  Result.getOrThrow(decideDirectory(state, command, at))

const run = (state: DirectoryState, command: DirectoryCommand, at = 1): DirectoryState =>
  fold(state, decide(state, command, at), at)

const refusal = (state: DirectoryState, command: DirectoryCommand, at = 1) =>
  Result.getOrThrow(Result.flip(decideDirectory(state, command, at)))

const key = (state: DirectoryState, id: string): ApiKey => state.keys.get(`key_${id}`)!

/** A directory with projects and, by id of their session, accounts with this access. */
const withAccounts = (accounts: Readonly<Record<string, Access>>, at = 1): DirectoryState => {
  const ids = Object.entries(accounts)
  return {
    ...run(run(emptyDirectory, create("shop")), create("bank", {}, "operator", "bank")),
    accounts: new Map(
      ids.map(([id, access]) => [
        `acc_${id}`,
        {
          id: `acc_${id}`,
          email: `${id}@example.com`,
          name: id,
          password: null,
          passkeys: [],
          access,
          createdAt: at,
        },
      ]),
    ),
    sessions: new Map(
      ids.map(([id]) => [
        id,
        {
          id,
          accountId: `acc_${id}`,
          hash: id,
          agent: "",
          address: "",
          createdAt: at,
          usedAt: at,
          confirmedAt: at,
        },
      ]),
    ),
  }
}

const of = (role: "admin" | "viewer", projectId: string): Access => ({
  owner: false,
  projects: [{ projectId, role }],
})

describe("A new key", () => {
  it("has a name, from its scope where none is given, and says who created it", () => {
    const named = run(emptyDirectory, create("a", { name: "Backend" }))
    expect(key(named, "a")).toMatchObject({ name: "Backend", createdBy: "operator" })
    const unnamed = run(emptyDirectory, create("a", { scope: "ingest" }))
    expect(key(unnamed, "a").name).toBe("ingest key")
  })

  it("that is publishable has no scope but read, and is named after its kind", () => {
    const made = run(emptyDirectory, create("a", { kind: "publishable", scope: "read" }))
    expect(made.keys.get("key_a")).toMatchObject({ kind: "publishable", name: "publishable key" })
    for (const scope of ["full", "ingest"] as const) {
      const { errors } = refusal(emptyDirectory, create("a", { kind: "publishable", scope }))
      expect(errors).toMatchObject([{ pointer: "/scope", code: "invalid_value" }])
    }
    const rotated = run(made, rotate("a", "b"))
    expect(rotated.keys.get("key_b")).toMatchObject({ kind: "publishable", scope: "read" })
  })

  it("has a name of 1 to 100 characters", () => {
    for (const name of ["x", "\u{1f600}".repeat(limits.keyNameCharactersMax)]) {
      expect(key(run(emptyDirectory, create("a", { name })), "a").name).toBe(name)
    }
    const most = limits.keyNameCharactersMax
    for (const name of ["", "  ", "x".repeat(most + 1), "a\nb", "\ud800"]) {
      const { errors } = refusal(emptyDirectory, create("a", { name }))
      expect(errors?.map(({ pointer }) => pointer)).toEqual(["/name"])
    }
  })

  it("is refused with the faults of all its members at once", () => {
    const { errors } = refusal(
      emptyDirectory,
      create("a", {
        name: "",
        expiresAt: 1,
        allowedOrigins: ["null"],
        allowedCidrs: ["ten"],
      }),
    )
    expect(errors?.map(({ pointer }) => pointer)).toEqual([
      "/name",
      "/expiresAt",
      "/allowedOrigins/0",
      "/allowedCidrs/0",
    ])
  })

  it("belongs to one of at most 1,000 in force per environment, and 10,000 in all", () => {
    const filled = (count: number, environmentOf: (index: number) => string): DirectoryState => {
      const state = run(emptyDirectory, create("0"))
      const template = key(state, "0")
      const keys = Array.from({ length: count }, (_, index): [string, ApiKey] => {
        const projectId = environmentOf(index)
        return [`key_${index}`, { ...template, id: `key_${index}`, projectId }]
      })
      return { ...state, keys: new Map(keys) }
    }
    const environmentFull = filled(limits.keysPerEnvironmentMax, () => "prj_shop")
    expect(refusal(environmentFull, create("more")).code).toBe("quota_exceeded")
    expect(refusal(environmentFull, rotate("0", "more")).code).toBe("quota_exceeded")
    run(environmentFull, rotate("0", "more", "0"))
    run(environmentFull, create("more", { environment: "production" }))
    run(run(environmentFull, revoke("7")), create("more"))
    const full = filled(limits.keysMax, (index) => `prj_${index % 20}`)
    expect(refusal(full, create("more")).code).toBe("quota_exceeded")
    run(run(full, revoke("7")), create("more"))
    const expired = new Map(full.keys).set("key_7", { ...key(full, "7"), expiresAt: 5 })
    run({ ...full, keys: expired }, create("more"), 5)
  })

  it("is kept by the stored directory", () => {
    const state = run(
      emptyDirectory,
      create("a", { name: "N", allowedOrigins: ["https://a.example"], allowedCidrs: ["::1"] }),
    )
    const again = decodeDirectory(Buffer.from(encodeDirectory(state)))
    expect(again.keys).toEqual(state.keys)
  })
})

describe("Rotation", () => {
  it("creates a key with the same properties, in one fact", () => {
    const state = run(
      emptyDirectory,
      create("a", {
        name: "Backend",
        scope: "ingest",
        allowedOrigins: ["https://app.example"],
        allowedCidrs: ["10.0.0.0/8"],
      }),
    )
    const facts = decide(state, rotate("a", "b"), 10)
    expect(facts.map(({ kind }) => kind)).toEqual(["key.rotated"])
    const rotated = fold(state, facts, 10)
    expect(key(rotated, "b")).toEqual({
      ...key(state, "a"),
      id: "key_b",
      hash: "hash of b",
      hint: "lk_test_xyz",
      createdAt: 10,
    })
    expect(key(rotated, "a")).toMatchObject({ expiresAt: 10 + day, replacedBy: "key_b" })
  })

  it("lets the old key live for the chosen overlap, and not longer than before", () => {
    const state = run(emptyDirectory, create("a"))
    const ends = (["0", "1h", "24h", "7d"] as const).map(
      (overlap) => key(run(state, rotate("a", "b", overlap), 10), "a").expiresAt! - 10,
    )
    expect(ends).toEqual([0, hour, day, 7 * day])
    expect(isKeyInForce(key(run(state, rotate("a", "b", "0"), 10), "a"), 10)).toBe(false)
    const soon = run(emptyDirectory, create("a", { expiresAt: 2 * hour }))
    expect(key(run(soon, rotate("a", "b", "7d"), hour), "a").expiresAt).toBe(2 * hour)
    expect(key(run(soon, rotate("a", "b", "1h"), hour / 2), "a").expiresAt).toBe(1.5 * hour)
  })

  it("gives the new key the lifetime of the old one", () => {
    const state = run(emptyDirectory, create("a", { expiresAt: 1 + 30 * day }), 1)
    expect(key(run(state, rotate("a", "b"), 10 * day), "b").expiresAt).toBe(40 * day)
    const forever = run(emptyDirectory, create("a"))
    expect(key(run(forever, rotate("a", "b")), "b")).not.toHaveProperty("expiresAt")
  })

  it("of a key that is unknown, revoked, expired or rotated already changes nothing", () => {
    const state = run(emptyDirectory, create("a", { expiresAt: 5 }))
    expect(refusal(state, rotate("b", "c")).code).toBe("key_not_found")
    expect(refusal(state, rotate("a", "c"), 5).code).toBe("key_not_found")
    expect(refusal(run(state, revoke("a")), rotate("a", "c")).code).toBe("key_not_found")
    expect(refusal(run(state, rotate("a", "b")), rotate("a", "c"))).toMatchObject({
      code: "conflict",
      detail: expect.stringContaining("key_b"),
    })
  })

  it("does not protect the old key from being revoked", () => {
    const rotated = run(run(emptyDirectory, create("a")), rotate("a", "b", "7d"))
    const revoked = run(rotated, revoke("a"), 2)
    expect(isKeyInForce(key(revoked, "a"), 2)).toBe(false)
    expect(isKeyInForce(key(revoked, "b"), 2)).toBe(true)
  })
})

describe("Keys in the dashboard", () => {
  const state = withAccounts({
    owner: { owner: true, projects: [] },
    admin: of("admin", "prj_shop"),
    viewer: of("viewer", "prj_shop"),
    other: of("admin", "prj_bank"),
  })
  const by = (sessionId: string) => ({ sessionId })

  it("are managed by admins of their project and by owners, by nobody else", () => {
    for (const id of ["owner", "admin", "viewer", "other", "stranger"]) {
      const wanted = { owner: "ok", admin: "ok", stranger: "unauthorized" }[id]
      for (const command of [
        create("a", {}, by(id)),
        rotate("shop", "a", "0", by(id)),
        revoke("shop", by(id)),
      ]) {
        const decided = decideDirectory(state, command, 1)
        const outcome = Result.isSuccess(decided) ? "ok" : decided.failure.code
        expect([id, command.kind, outcome]).toEqual([
          id,
          command.kind,
          wanted ?? "insufficient_role",
        ])
      }
    }
    expect(key(run(state, create("a", {}, by("admin"))), "a").createdBy).toBe("acc_admin")
    expect(refusal(state, create("a", {}, by("admin"), "new")).code).toBe("insufficient_role")
    run(state, create("a", {}, by("owner"), "new"))
  })

  it("of production need a confirmed session for a new text, not for an end", () => {
    const late = 1 + limits.sessionConfirmedMs
    const production = { environment: "production" } as const
    const withKey = run(state, create("p", production))
    run(withKey, create("a", production, by("admin")), late - 1)
    for (const command of [
      create("a", production, by("admin")),
      rotate("p", "a", "0", by("admin")),
    ]) {
      expect(refusal(withKey, command, late).code).toBe("confirmation_required")
    }
    run(withKey, create("a", {}, by("admin")), late)
    run(withKey, revoke("p", by("admin")), late)
  })
})

describe("The last use of keys", () => {
  it("is one fact for all of them, and never goes back", () => {
    let state = run(run(emptyDirectory, create("a")), create("b"))
    const use = (used: ReadonlyArray<readonly [string, number]>) =>
      ({ kind: "useKeys", used }) as const
    const command = use([
      ["key_a", 5],
      ["key_b", 6],
      ["key_gone", 7],
    ])
    const facts = decide(state, command, 8)
    expect(facts).toEqual([
      {
        kind: "keys.used",
        used: [
          ["key_a", 5],
          ["key_b", 6],
        ],
      },
    ])
    state = fold(state, facts, 8)
    state = run(state, use([["key_a", 4]]), 9)
    expect([key(state, "a").lastUsedAt, key(state, "b").lastUsedAt]).toEqual([5, 6])
    expect(key(run(state, rotate("a", "c")), "c")).not.toHaveProperty("lastUsedAt")
  })

  it("fits a record also when every key was used", () => {
    const id = `key_${"f".repeat(32)}`
    const most = limits.keysMax + limits.endedKeysMax
    const fact = { kind: "keys.used", used: Array(most).fill([id, Date.parse("9999-01-01")]) }
    expect(JSON.stringify(fact).length).toBeLessThan(limits.recordBytesMax)
  })
})

describe("Ended keys", () => {
  it("are listed until there are too many; those that ended first go first, expired or revoked", () => {
    let state = run(emptyDirectory, create("kept"))
    const template = key(state, "kept")
    const ended = Array.from({ length: limits.endedKeysMax }, (_, index): [string, ApiKey] => [
      `key_${index}`,
      {
        ...template,
        id: `key_${index}`,
        ...(index % 2 === 0 ? { expiresAt: 10 + index } : { revokedAt: 10 + index }),
      },
    ])
    state = { ...state, keys: new Map([...ended.reverse(), ...state.keys]) }
    const late = 10 + limits.endedKeysMax
    expect(run(state, create("more"), late).keys.size).toBe(limits.endedKeysMax + 2)
    const next = run(run(state, create("more"), late), revoke("more"), late)
    expect(next.keys.size).toBe(limits.endedKeysMax + 1)
    expect(next.keys.has("key_0")).toBe(false)
    expect(next.keys.has("key_1")).toBe(true)
    expect(next.keys.has("key_kept")).toBe(true)
  })
})
