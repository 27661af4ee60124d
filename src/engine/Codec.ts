/**
 * How records and actors' states become bytes. Bodies are JSON, readable with any tool, inside the
 * versioned and checksummed values of the storage. A user's value begins with the few numbers that start-up
 * needs, so that a million users are ranked without parsing one JSON text:
 *
 *     offset 0  sequence       float64, little-endian
 *            8  xp             float64
 *           16  scoreSequence  float64
 *           24  flags          uint8, bit 0: hidden
 *           25  the rest of the state as JSON
 */
import type { ApiKey, DirectoryState, Project } from "../domain/Directory.ts"
import { indexRules, type ProjectState } from "../domain/Project.ts"
import type { Quest } from "../domain/Quest.ts"
import type { JournalRecord } from "../domain/Record.ts"
import type { Rule } from "../domain/Rule.ts"
import type { UserState } from "../domain/User.ts"
import type { Webhook } from "../domain/Webhook.ts"
import { asBuffer } from "../storage/Keys.ts"
import type { PendingRecord } from "./Pending.ts"

/** The journal's text of a record. */
export const encodeRecord = (record: JournalRecord): string => JSON.stringify(record)

export const decodeRecord = (body: Uint8Array): JournalRecord => JSON.parse(textOf(body))

const textOf = (bytes: Uint8Array): string => asBuffer(bytes).toString("utf8")

/** A page of one user's records, oldest first, one JSON text a line; `bytes` is what their texts take. */
export const encodePage = (records: ReadonlyArray<PendingRecord>, bytes: number): Uint8Array => {
  const page = Buffer.allocUnsafe(bytes + records.length - 1)
  let at = 0
  for (const { text, textBytes, textStart } of records) {
    if (at > 0) at = page.writeUInt8(newline, at)
    at += text.bytes.copy(page, at, textStart, textStart + textBytes)
  }
  return page
}

const newline = 10

export const decodePage = (page: Uint8Array): ReadonlyArray<JournalRecord> =>
  textOf(page)
    .split("\n")
    .map((line) => JSON.parse(line))

const headerBytes = 25

export const encodeUser = (user: UserState): Uint8Array => {
  const { sequence, xp, scoreSequence, questsCompleted, ...rest } = user
  const text = JSON.stringify({ ...rest, questsCompleted: [...questsCompleted] })
  const bytes = Buffer.allocUnsafe(headerBytes + Buffer.byteLength(text))
  bytes.writeDoubleLE(sequence, 0)
  bytes.writeDoubleLE(xp, 8)
  bytes.writeDoubleLE(scoreSequence, 16)
  bytes.writeUInt8(0, 24)
  bytes.write(text, headerBytes, "utf8")
  return bytes
}

export interface UserHeader {
  readonly sequence: number
  readonly xp: number
  readonly scoreSequence: number
}

/** The numbers at the head of a user's body, which begins at `at`. */
export const decodeUserHeader = (bytes: Buffer, at = 0): UserHeader => ({
  sequence: bytes.readDoubleLE(at),
  xp: bytes.readDoubleLE(at + 8),
  scoreSequence: bytes.readDoubleLE(at + 16),
})

export const decodeUser = (value: Uint8Array): UserState => {
  const rest = JSON.parse(textOf(value.subarray(headerBytes)))
  return {
    ...rest,
    ...decodeUserHeader(asBuffer(value)),
    questsCompleted: new Map(rest.questsCompleted),
  }
}

interface StoredProject {
  readonly sequence: number
  readonly levelCurve: ProjectState["levelCurve"]
  readonly quests: ReadonlyArray<Quest>
  readonly rules: ReadonlyArray<Rule>
  readonly webhooks: ReadonlyArray<Webhook>
}

const byId = <A extends { readonly id: string }>(things: ReadonlyArray<A>): Map<string, A> =>
  new Map(things.map((thing) => [thing.id, thing]))

export const encodeProject = (project: ProjectState): string => {
  const stored: StoredProject = {
    sequence: project.sequence,
    levelCurve: project.levelCurve,
    quests: [...project.quests.values()],
    rules: [...project.rules.values()],
    webhooks: [...project.webhooks.values()],
  }
  return JSON.stringify(stored)
}

export const decodeProject = (value: Uint8Array): ProjectState => {
  const stored: StoredProject = JSON.parse(textOf(value))
  const rules = byId(stored.rules)
  return {
    ...stored,
    quests: byId(stored.quests),
    rules,
    webhooks: byId(stored.webhooks),
    rulesByAction: indexRules(rules),
  }
}

export const encodeDirectory = (directory: DirectoryState): string =>
  JSON.stringify({
    ...directory,
    projects: [...directory.projects.values()],
    keys: [...directory.keys.values()],
  })

export const decodeDirectory = (value: Uint8Array): DirectoryState => {
  const stored: DirectoryState & {
    readonly projects: unknown
    readonly keys: unknown
  } = JSON.parse(textOf(value))
  return {
    ...stored,
    projects: byId(stored.projects as unknown as ReadonlyArray<Project>),
    keys: byId(stored.keys as unknown as ReadonlyArray<ApiKey>),
  }
}
