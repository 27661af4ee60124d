/**
 * Forwards requests to the owner of their partition. The owner authenticates and executes them, and
 * its replies are passed back. Bodies stream in both directions.
 *
 * - A request that no owner has begun to execute waits for an owner, up to `ownerWaitMs`, and is
 *   then refused with 503.
 * - A request that was sent and got no reply is sent again only if that is safe (`isRepeatable` in
 *   `Forward.ts`). Otherwise the caller gets the 503 that says that the outcome is unknown.
 * - A new owner ends all attempts at the former owner, which may have stopped without closing its
 *   connections.
 *
 * If this runner is the owner, it forwards to its own address as long as it serves the partition. A
 * process that was paused may have lost its partitions meanwhile: it reads the owners again, and
 * sends nothing to itself.
 */
import { type LaurelError, laurelError } from "../domain/values/Errors.ts"
import { shuttingDown } from "../engine/actor/Actor.ts"
import { alive } from "../http/contract/Interpreter.ts"
import type { Exchange, RequestHandler } from "../http/request/Exchange.ts"
import { headFault } from "../http/request/RequestHead.ts"
import type { RequestMetrics } from "../http/request/RequestMetrics.ts"
import { RequestWatch } from "../http/request/RequestWatch.ts"
import { limits } from "../Limits.ts"
import {
  Forward,
  type ForwardingRunner,
  type ForwardOutcome,
  OwnerConnections,
  receiveBody,
  refusalNow,
} from "./Forward.ts"
import { internalHeaders } from "./InternalPort.ts"
import type { Owner, Owners } from "./Owners.ts"

export interface ForwarderOptions {
  readonly owners: Pick<Owners, "of" | "runners" | "renew" | "changed" | "failure">
  /** The address of this runner. */
  readonly address: string
  /** Whether this runner serves a partition. */
  readonly serves: (partition: number) => boolean
  readonly secret: string
  readonly metrics: RequestMetrics
  readonly watch?: RequestWatch
  /** Returns the partition of a request. Rejects if it cannot be determined. */
  readonly partitionOf: (exchange: Exchange) => number | Promise<number>
}

export class Forwarder implements RequestHandler, ForwardingRunner {
  readonly watch: RequestWatch
  readonly connections = new OwnerConnections()
  readonly secret: string
  readonly outcomes: Record<ForwardOutcome, number> = {
    answered: 0,
    repeated: 0,
    refused: 0,
    unknown: 0,
    left: 0,
  }
  draining = false
  /** The process will end: proxies in front must send requests to other servers. */
  isStopping = false
  /** The number of requests that wait for an owner. */
  waiting = 0
  readonly #waitingFor = new Map<number, number>()
  readonly #options: ForwarderOptions
  readonly #startedAt = performance.now()
  /** Whether all partitions have had an owner at the same time. */
  #wasWhole = false
  readonly #sent = new Set<Forward>()
  /**
   * Owners that did not take a request, by partition. They get no request until a newer owner is
   * known, they announce that they serve, or `ownerAvoidedMs` has passed.
   */
  readonly #avoided = new Map<number, { readonly owner: Owner; readonly until: number }>()

  constructor(options: ForwarderOptions) {
    this.#options = options
    this.watch = options.watch ?? new RequestWatch()
    this.secret = options.secret
  }

  /** The number of requests that were sent to an owner and are not finished. */
  get inProgress(): number {
    return this.#sent.size
  }

  /**
   * From now on each reply closes its connection, and no request waits for an owner. Ends streams.
   */
  drain(): void {
    this.draining = true
    for (const forward of [...this.#sent]) forward.drain()
  }

  answered(exchange: Exchange, status: number): void {
    this.watch.answered(exchange, status)
  }

  missed(exchange: Exchange): void {
    this.watch.missed(exchange)
  }

  handle(exchange: Exchange): void {
    const { path, request } = exchange
    const { metrics } = this.#options
    const looks = request.method === "GET" || request.method === "HEAD"
    if (looks && path === "/healthz") {
      exchange.metrics = metrics.of(path)
      exchange.reply(alive.status, alive.contentType, alive.body)
      return
    }
    if (looks && path === "/readyz") {
      exchange.metrics = metrics.of(path)
      const refusal = this.notReady
      if (refusal === undefined) exchange.reply(alive.status, alive.contentType, alive.body)
      else exchange.refuse(refusal)
      return
    }
    exchange.metrics = metrics.of("forwarded")
    const fault = headFault(request)
    if (fault !== undefined || !path.startsWith("/")) {
      exchange.last = true
      exchange.refuse(fault ?? badTarget)
      return
    }
    const partition = this.#options.partitionOf(exchange)
    if (typeof partition === "number") this.#forward(exchange, partition)
    else {
      partition.then(
        (found) => this.#forward(exchange, found),
        () => exchange.refuse(this.refusal),
      )
    }
  }

  /**
   * Forwards a request to the admin server of a partition's owner. The caller has authenticated it.
   */
  forwardAdmin(exchange: Exchange, partition: number): void {
    this.#forward(exchange, partition, [internalHeaders.admin, "1"])
  }

  #forward(exchange: Exchange, partition: number, more: ReadonlyArray<string> = []): void {
    exchange.askForBody()
    receiveBody(exchange.request, (body) => {
      new Forward(this, exchange, body, partition, more).begin()
    })
  }

  get refusal(): LaurelError {
    return refusalNow(this.#options.owners)
  }

  /**
   * Why proxies should send requests to other servers. `undefined`: they can send them here. After
   * its start a runner is not ready until each partition has a live owner, or `readinessWaitMs`
   * has passed: one partition that no runner can open must not make all runners unready. From then
   * on a partition without an owner does not make the runner unready, because the other servers
   * have no owner for it either.
   */
  get notReady(): LaurelError | undefined {
    const { owners } = this.#options
    if (this.isStopping) return shuttingDown
    if (owners.failure !== undefined) return this.refusal
    const partitions = Array.from({ length: limits.clusterPartitions }, (_, index) => index + 1)
    const owned = partitions.filter((partition) => this.#isOwned(partition)).length
    if (owned === partitions.length) this.#wasWhole = true
    const isLate = performance.now() - this.#startedAt >= limits.readinessWaitMs
    if (owned > 0 && (this.#wasWhole || isLate)) return undefined
    const words = `${owned} of ${partitions.length} partitions have a server that serves them.`
    return laurelError("starting", words, { retryAfterSeconds: 1 })
  }

  #isOwned(partition: number): boolean {
    const { address: own, owners, serves } = this.#options
    const address = owners.of(partition)?.address
    if (address === undefined || address === "") return false
    return address === own ? serves(partition) : owners.runners.includes(address)
  }

  ownerOf(partition: number): Owner | undefined {
    const owner = this.#options.owners.of(partition)
    // The partition was created, replaced or given away, and not claimed since.
    if (owner?.address === "") return undefined
    const avoided = this.#avoided.get(partition)
    const isAvoided = avoided?.owner === owner && performance.now() < (avoided?.until ?? 0)
    if (owner === undefined || isAvoided) return undefined
    if (owner.address !== this.#options.address || this.#options.serves(partition)) return owner
    // This runner was the owner, or will be. It need not send a request to its own port to find
    // that out.
    this.avoid(partition, owner)
    return undefined
  }

  avoid(partition: number, owner: Owner): void {
    this.#avoided.set(partition, { owner, until: performance.now() + limits.ownerAvoidedMs })
    void this.#options.owners.renew()
  }

  reached(partition: number, owner: Owner): void {
    if (this.#avoided.get(partition)?.owner === owner) this.#avoided.delete(partition)
  }

  async #changed(partition: number, others: number): Promise<void> {
    this.waiting++
    this.#waitingFor.set(partition, others + 1)
    await this.#options.owners.changed(limits.ownerAvoidedMs)
    this.waiting--
    this.#waitingFor.set(partition, this.#waitingFor.get(partition)! - 1)
  }

  change(partition: number): Promise<void> | undefined {
    const others = this.#waitingFor.get(partition) ?? 0
    // A partition without an owner thus leaves places for the requests of other partitions.
    return others < limits.ownerWaitingMax - this.waiting
      ? this.#changed(partition, others)
      : undefined
  }

  began(forward: Forward): void {
    this.#sent.add(forward)
  }

  repeated(): void {
    this.outcomes.repeated++
  }

  ended(forward: Forward, outcome: ForwardOutcome): void {
    this.#sent.delete(forward)
    this.outcomes[outcome]++
  }

  /** Ends attempts at former owners, once these have had their time to finish (`handoverMs`). */
  leaveFormerOwners(): void {
    const timer = setTimeout(() => {
      const { owners } = this.#options
      const addresses = new Set<string>()
      for (let partition = 1; partition <= limits.clusterPartitions; partition++) {
        const owner = owners.of(partition)
        if (owner !== undefined) addresses.add(owner.address)
      }
      for (const forward of [...this.#sent]) {
        const owner = owners.of(forward.partition)
        if (owner !== undefined && forward.isOlderThan(owner.epoch)) forward.leave()
      }
      this.connections.keep(addresses)
    }, 2 * limits.handoverMs)
    timer.unref()
  }
}

const badTarget = laurelError("malformed_request", "The target of the request is no path.")
