/**
 * All endpoints, as the projects define them. An endpoint is added when a webhook is created or
 * found at the start, changed when the webhook changes, and removed when it is deleted. Reads the
 * durable states of projects.
 */
import { Effect } from "effect"
import type { MessageKind } from "../../domain/message/MessageKind.ts"
import type { Engine } from "../../engine/Engine.ts"
import type { DeliveryStore } from "../store/DeliveryStore.ts"
import { type EndpointStats, emptyStats } from "../store/DeliveryStore.ts"
import { Endpoint, type Shared } from "./Endpoint.ts"

/** The endpoints of one environment. */
class Neighbours {
  readonly byId = new Map<string, Endpoint>()
  /** The enabled endpoints that ask for a kind; built at the first use. */
  #byKind = new Map<MessageKind, ReadonlyArray<Endpoint>>()

  changed(): void {
    this.#byKind = new Map()
  }

  askingFor(kind: MessageKind): ReadonlyArray<Endpoint> {
    let found = this.#byKind.get(kind)
    if (found === undefined) {
      // A test goes to one endpoint, also if it does not ask for that kind.
      found = [...this.byId.values()].filter(
        ({ isEnabled, kinds }) => isEnabled && (kind === "webhook.test" || kinds.has(kind)),
      )
      this.#byKind.set(kind, found)
    }
    return found
  }
}

const none: ReadonlyArray<Endpoint> = []

export class Registry {
  readonly #engine: Engine["Service"]
  readonly #shared: Shared
  readonly #deletionListeners: Array<(endpoint: Endpoint) => void> = []
  readonly #environments = new Map<string, Neighbours>()
  readonly #byNumber = new Map<number, Endpoint>()

  constructor(engine: Engine["Service"], shared: Shared) {
    this.#engine = engine
    this.#shared = shared
  }

  /** Calls `listener` with each endpoint whose webhook is deleted from now on. */
  onDeleted(listener: (endpoint: Endpoint) => void): void {
    this.#deletionListeners.push(listener)
  }

  get size(): number {
    return this.#byNumber.size
  }

  /** The number of attempts under way. */
  get inFlight(): number {
    let inFlight = 0
    for (const endpoint of this) inFlight += endpoint.inFlight
    return inFlight
  }

  [Symbol.iterator](): IterableIterator<Endpoint> {
    return this.#byNumber.values()
  }

  at(number: number): Endpoint | undefined {
    return this.#byNumber.get(number)
  }

  find(environment: string, webhookId: string): Endpoint | undefined {
    return this.#environments.get(environment)?.byId.get(webhookId)
  }

  of(environment: string): Iterable<Endpoint> {
    return this.#environments.get(environment)?.byId.values() ?? none
  }

  has(environment: string): boolean {
    return this.#environments.has(environment)
  }

  /** The enabled endpoints of an environment that ask for a kind. */
  askingFor(environment: string, kind: MessageKind): ReadonlyArray<Endpoint> {
    return this.#environments.get(environment)?.askingFor(kind) ?? none
  }

  /** Adds the endpoints of all existing webhooks. */
  readonly load = Effect.fnUntraced(function* (this: Registry, store: DeliveryStore) {
    for (const environment of yield* this.#engine.readEnvironments) {
      const { webhooks } = yield* this.#engine.readProject(environment)
      for (const webhook of webhooks.values()) {
        const stats = yield* store.stats(webhook.since)
        if (this.#byNumber.has(webhook.since)) continue
        this.#add(environment, new Endpoint(environment, webhook, stats, this.#shared))
      }
    }
  })

  /** Applies a change of the webhooks of an environment. */
  sync(environment: string): void {
    const { webhooks } = Effect.runSync(this.#engine.readProject(environment))
    const neighbours = this.#environments.get(environment)
    for (const webhook of webhooks.values()) {
      const known = neighbours?.byId.get(webhook.id)
      if (known === undefined) this.#create(environment, webhook, emptyStats())
      else if (known.webhook !== webhook) known.define(webhook)
    }
    for (const endpoint of [...(neighbours?.byId.values() ?? none)]) {
      if (!webhooks.has(endpoint.webhook.id)) this.#remove(endpoint)
    }
    this.#environments.get(environment)?.changed()
  }

  #create(environment: string, webhook: Endpoint["webhook"], stats: EndpointStats): void {
    this.#add(environment, new Endpoint(environment, webhook, stats, this.#shared))
  }

  #add(environment: string, endpoint: Endpoint): void {
    let neighbours = this.#environments.get(environment)
    if (neighbours === undefined) {
      neighbours = new Neighbours()
      this.#environments.set(environment, neighbours)
    }
    neighbours.byId.set(endpoint.webhook.id, endpoint)
    neighbours.changed()
    this.#byNumber.set(endpoint.number, endpoint)
    this.#shared.writer.open(endpoint)
  }

  #remove(endpoint: Endpoint): void {
    const neighbours = this.#environments.get(endpoint.environment)
    neighbours?.byId.delete(endpoint.webhook.id)
    if (neighbours?.byId.size === 0) this.#environments.delete(endpoint.environment)
    this.#byNumber.delete(endpoint.number)
    endpoint.discard()
    this.#shared.writer.forget(endpoint)
    for (const listener of this.#deletionListeners) listener(endpoint)
  }
}
