/** Which partition answers a request. */

import { createSecretKey } from "node:crypto"
import type { Socket } from "node:net"
import { beforeEach, describe, expect, it } from "vitest"
import { hashKeyText } from "../../src/accounts/KeyIndex.ts"
import { makeKeyText } from "../../src/accounts/KeyText.ts"
import { UserTokens } from "../../src/accounts/UserTokens.ts"
import { PartitionRouter } from "../../src/cluster/PartitionRouter.ts"
import {
  type ApiKey,
  type DirectoryState,
  emptyDirectory,
} from "../../src/domain/project/Directory.ts"

const secret = "ab".repeat(32)
const now = 1_000_000
const texts = { first: makeKeyText("sandbox"), third: makeKeyText("production") }

const keyOf = (id: string, projectId: string, text: string): [string, ApiKey] => [
  id,
  {
    id,
    projectId,
    name: id,
    environment: "sandbox",
    scope: "full",
    hash: hashKeyText(secret, text),
    hint: "lk_",
    createdAt: 0,
    createdBy: "operator",
    revokedAt: null,
  },
]

const full: DirectoryState = {
  ...emptyDirectory,
  sequence: 1,
  hashSecret: secret,
  projects: new Map([
    ["prj_1", { id: "prj_1", name: "shop", createdAt: 0 }],
    ["prj_3", { id: "prj_3", name: "mall", createdAt: 0, partition: 3 }],
  ]),
  keys: new Map([keyOf("key_1", "prj_1", texts.first), keyOf("key_3", "prj_3", texts.third)]),
}

let state: DirectoryState
const router = () =>
  new PartitionRouter({ directory: () => state, pages: "/dashboard", partitions: 16 })
const socket = () => ({}) as Socket
const ofKey = (found: PartitionRouter, key: string, over = socket()) =>
  found.of({ headers: { authorization: `Bearer ${key}` }, socket: over, url: "/v1/events" })
const ofPath = (url: string) => router().of({ headers: {}, socket: socket(), url })

beforeEach(() => {
  state = full
})

describe("A request's partition", () => {
  it("is that of the project of its key", () => {
    const found = router()
    expect([ofKey(found, texts.first), ofKey(found, texts.third)]).toEqual([1, 3])
    expect(ofKey(found, makeKeyText("sandbox"))).toBeUndefined()
    expect(ofKey(found, `${makeKeyText("sandbox").slice(0, -1)}!`)).toBe(1)
    expect(found.of({ headers: { authorization: "Basic x" }, socket: socket() })).toBe(1)
    expect(found.of({ headers: {}, socket: socket(), url: "/v1/events" })).toBe(1)
  })

  it("is that of the project of the key that made its token", () => {
    const tokens = new UserTokens(createSecretKey(Buffer.from(secret, "hex")))
    const wish = { keyId: "key_3", userId: "ada", issuedAt: now, expiresAt: now + 60_000 }
    expect(ofKey(router(), tokens.make(wish))).toBe(3)
    expect(ofKey(router(), tokens.make({ ...wish, keyId: "key_9" }))).toBeUndefined()
    const later = Date.UTC(2100, 0, 1)
    expect(ofKey(router(), tokens.make({ ...wish, expiresAt: later }))).toBe(3)
    // The owner refuses it.
    expect(ofKey(router(), tokens.make({ ...wish, issuedAt: 0, expiresAt: 1_000 }))).toBe(3)
  })

  it("is that of the project in the path of a delivery, whatever key it has", () => {
    const path = (project: string) => `/v1/ingest/${project}/sandbox/src_1`
    expect([ofPath(path("prj_1")), ofPath(path("prj_3")), ofPath(`/api${path("prj_3")}`)]) //
      .toEqual([1, 3, 3])
    expect(ofPath(path("prj_9"))).toBeUndefined()
    expect(ofPath("/v1/ingest/segment/batch")).toBe(1)
    const headers = { authorization: `Bearer ${texts.first}` }
    expect(router().of({ headers, socket: socket(), url: path("prj_3") })).toBe(3)
  })

  it("is that of the project of its page", () => {
    expect(ofPath("/dashboard/mall/production")).toBe(3)
    expect(ofPath("/dashboard/mall/sandbox/users?limit=5")).toBe(3)
    expect(ofPath("/dashboard/mall/sandbox?x=1")).toBe(3)
    expect(ofPath("/dashboard/shop/sandbox")).toBe(1)
    for (const path of [
      "/dashboard",
      "/dashboard/mall",
      "/dashboard/mall/sandboxes",
      "/other/mall/sandbox",
      "/dashboard/projects/prj_3/rename",
    ]) {
      expect([path, ofPath(path)]).toEqual([path, 1])
    }
    expect(ofPath("/dashboard/gone/sandbox")).toBeUndefined()
  })

  it("is the one that the page Operations asks for", () => {
    expect(ofPath("/dashboard/operations?partition=3")).toBe(3)
    expect(ofPath("/dashboard/operations?done=x&partition=16")).toBe(16)
    expect(ofPath("/dashboard/operations/archives?partition=2&done=x")).toBe(2)
    for (const path of [
      "/dashboard/operations",
      "/dashboard/operations?partition=17",
      "/dashboard/operations?partition=0",
      "/dashboard/operations?partition=3x",
      "/dashboard/operations?xpartition=3",
      "/dashboard/log?partition=3",
    ]) {
      expect([path, ofPath(path)]).toEqual([path, 1])
    }
  })

  it("is also known for expired keys", () => {
    const [id, key] = keyOf("key_3", "prj_3", texts.third)
    for (const end of [{ revokedAt: 1 }, { expiresAt: 0 }]) {
      state = { ...full, keys: new Map([[id, { ...key, ...end }]]) }
      expect(ofKey(router(), texts.third)).toBe(3)
    }
    const mall = { ...full.projects.get("prj_3")!, archivedAt: 1 }
    state = { ...full, projects: new Map([["prj_3", mall]]) }
    expect(ofKey(router(), texts.third)).toBe(3)
  })

  it("follows the directory, also on a known connection", () => {
    const [found, over] = [router(), socket()]
    state = { ...full, keys: new Map() }
    expect(ofKey(found, texts.third, over)).toBeUndefined()
    state = full
    expect(ofKey(found, texts.third, over)).toBe(3)
    // A heartbeat changes nothing.
    state = { ...full, sequence: 2 }
    expect(ofKey(found, texts.third, over)).toBe(3)
    expect(ofKey(found, texts.first, over)).toBe(1)
    state = emptyDirectory
    expect(ofKey(found, texts.third, over)).toBeUndefined()
  })
})
