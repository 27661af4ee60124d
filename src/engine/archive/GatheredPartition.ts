/** A partition whose projects are gathered (`GatherJob.ts`): which of its entries are kept, and under which keys. */
import path from "node:path"
import { Effect, type Scope } from "effect"
import { messageKindAt } from "../../domain/message/Message.ts"
import {
  environmentId,
  environmentNames,
  firstPartition,
  type Project,
  partitionOf,
} from "../../domain/project/Directory.ts"
import type { ProjectState } from "../../domain/project/Project.ts"
import type { JournalRecord } from "../../domain/record/Record.ts"
import type { DiskError } from "../../storage/disk/Disk.ts"
import { nodeDisk } from "../../storage/disk/NodeDisk.ts"
import { batchRecords } from "../../storage/Frames.ts"
import { scanJournal } from "../../storage/journal/JournalScan.ts"
import { compositeKey, keyParts } from "../../storage/Keys.ts"
import { type StoredEntry, type Table, webhookTables } from "../../storage/Storage.ts"
import { encodeValue, openValue } from "../../storage/Values.ts"
import { decodeRecord, encodeProject } from "../records/Codec.ts"
import { environmentAt } from "./environmentAt.ts"
import { JobFailed } from "./Jobs.ts"
import type { Fault } from "./JournalTail.ts"
import { SavedState } from "./SavedState.ts"
import { webhookTablesKey } from "./WebhookCheck.ts"

const ofWebhooks: ReadonlySet<Table> = new Set(webhookTables)

export class GatheredPartition {
  readonly saved: SavedState
  readonly folder: string
  readonly number: number
  readonly #projects: ReadonlyMap<string, ProjectState>
  readonly #environments = new Set<string>()
  /** The environments that are left out. */
  readonly foreign = new Set<string>()
  /** The number of each webhook here, and the one that it gets. */
  readonly numbers = new Map<number, number>()

  constructor(folder: string, saved: SavedState) {
    this.folder = folder
    this.saved = saved
    this.number = saved.readDirectory().partition ?? firstPartition
    this.#projects = saved.readProjects()
  }

  /** Keeps the environments of its own among all projects of the cluster. */
  choose(projects: Iterable<Project>): void {
    for (const project of projects) {
      if (partitionOf(project) !== this.number) continue
      for (const name of environmentNames) this.#environments.add(environmentId(project.id, name))
    }
    for (const { since } of this.#webhooks) this.numbers.set(since, since)
  }

  get #webhooks() {
    return this.#kept.flatMap(([, { webhooks }]) => [...webhooks.values()])
  }

  get #kept() {
    return [...this.#projects].filter(([environment]) => this.#environments.has(environment))
  }

  /** Whether its tables of webhooks, if it has any, keep the rules of today. */
  get isRepaired(): boolean {
    return this.numbers.size === 0 || this.saved.get("outbox", webhookTablesKey) !== undefined
  }

  /** The environments with webhooks. */
  get notified(): ReadonlySet<string> {
    const found = this.#kept.filter(([, { webhooks }]) => webhooks.size > 0)
    return new Set(found.map(([environment]) => environment))
  }

  /** The entry as it is gathered; `undefined`: it is left out. */
  keeps(table: Table, [key, value]: StoredEntry): StoredEntry | undefined {
    if (table === "outbox") return undefined
    const parts = keyParts(key)
    if (ofWebhooks.has(table)) {
      const [webhook, ...rest] = parts
      const number = this.numbers.get(webhook as number)
      if (number === undefined) return undefined
      return number === webhook ? [key, value] : [compositeKey(number, ...rest), value]
    }
    const environment = parts[environmentAt[table]!]
    if (typeof environment !== "string") return undefined
    if (!this.#environments.has(environment)) {
      this.foreign.add(environment)
      return undefined
    }
    return table === "actors" ? [key, this.#renumbered(environment, value)] : [key, value]
  }

  #renumbered(environment: string, value: Uint8Array): Uint8Array {
    const project = this.#projects.get(environment)
    const changed = [...(project?.webhooks ?? [])].filter(
      ([, { since }]) => this.numbers.get(since) !== since,
    )
    if (project === undefined || changed.length === 0) return value
    const webhooks = new Map(
      Array.from(project.webhooks, ([id, webhook]) => [
        id,
        { ...webhook, since: this.numbers.get(webhook.since)! },
      ]),
    )
    return encodeValue(encodeProject({ ...project, webhooks }))
  }
}

/** Opens a data directory that was closed in order. */
export const openGathered = Effect.fnUntraced(function* (
  folder: string,
  fault: Fault,
): Effect.fn.Return<GatheredPartition, DiskError | JobFailed, Scope.Scope> {
  const saved = yield* SavedState.open({ folder, fault })
  const { lastSequence, watermark } = saved
  if (watermark === lastSequence) return new GatheredPartition(folder, saved)
  const detail = `The snapshot of ${folder} goes up to record ${watermark}, its journal to ${lastSequence}`
  return yield* new JobFailed({ kind: "refused", detail })
})

/** The number of messages that wait to be sent. Fails where messages are not made yet, or a job is unfinished: a server does that soon. */
export const pendingIn = Effect.fnUntraced(function* ({
  folder,
  notified,
  number,
  numbers,
  saved,
}: GatheredPartition): Effect.fn.Return<number, DiskError | JobFailed> {
  if (numbers.size === 0) return 0
  const isKept = (endpoint: unknown) => numbers.has(endpoint as number)
  let unfinished = 0
  for (const [key, value] of saved.entries("outbox")) {
    if (keyParts(key)[0] !== "job") continue
    const { endpoint, kind } = jsonOf(value) as { kind: string; endpoint?: number }
    if (kind === "erase" || (kind === "recover" && isKept(endpoint))) unfinished++
  }
  const cursor = saved.get("outbox", compositeKey("cursor"))
  const from = Math.max(Number(cursor === undefined ? 0 : jsonOf(cursor)), oldestOf(numbers)) + 1
  const until = saved.lastSequence
  const isUnmade = (record: JournalRecord): boolean =>
    record.subject.actor !== "directory" &&
    notified.has(record.subject.environment) &&
    record.facts.some((_, index) => messageKindAt(record, index) !== undefined)
  if (from <= until) {
    const journal = { disk: nodeDisk, folder: path.join(folder, "journal"), from, until }
    yield* scanJournal(journal, (batches) =>
      Effect.sync(() => {
        for (const batch of batches) {
          for (const { body } of batchRecords(batch, from) ?? []) {
            if (isUnmade(decodeRecord(body))) unfinished++
          }
        }
      }),
    )
  }
  if (unfinished > 0) {
    const detail = `The webhooks of partition ${number} have ${unfinished} records to take yet. Start the servers, and stop them in order`
    return yield* new JobFailed({ kind: "refused", detail })
  }
  let pending = 0
  for (const [key] of saved.entries("due")) if (isKept(keyParts(key)[0])) pending++
  return pending
})

const oldestOf = (numbers: ReadonlyMap<number, number>): number => Math.min(...numbers.keys())

const jsonOf = (value: Uint8Array): unknown => {
  const body = openValue(value)
  if (typeof body !== "string") return JSON.parse(Buffer.from(body).toString("utf8"))
  throw new JobFailed({ kind: "damaged", detail: `A value of table outbox ${body}` })
}
