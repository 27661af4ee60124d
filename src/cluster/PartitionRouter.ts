/**
 * Selects the partition that answers a request: the partition of the project of its key or token,
 * of the project in the path of a page or of a delivery of a source, or the partition that the page Operations asks for. A
 * request without any of these goes to partition 1. The copy of the directory decides this before a
 * handler is chosen, so the other partitions answer while partition 1 has no owner.
 *
 * The router decides nothing else. The partition's owner authenticates the request and refuses
 * expired keys. A project never changes its partition, so a copy that lags may lack a project, but
 * never has a wrong partition for it.
 *
 * Cost: one hash of the key for each connection that repeats it. The index is rebuilt when keys or
 * projects change.
 */
import type { IncomingMessage } from "node:http"
import type { Socket } from "node:net"
import { Effect } from "effect"
import { KeyIndex } from "../accounts/KeyIndex.ts"
import { isKeyText } from "../accounts/KeyText.ts"
import { KeyUses } from "../accounts/KeyUses.ts"
import { looksLikeToken } from "../accounts/UserTokens.ts"
import {
  type DirectoryState,
  environmentNames,
  type Project,
  partitionOf,
  projectNamed,
} from "../domain/project/Directory.ts"
import type { RequestHandler } from "../http/request/Exchange.ts"
import { bearerKey } from "../http/request/RequestParts.ts"
import { limits } from "../Limits.ts"
import type { DirectoryCopy } from "./DirectoryCopy.ts"
import { directoryPartition } from "./DirectoryTable.ts"
import { noOwner, refusalNow } from "./Forward.ts"
import type { Owners } from "./Owners.ts"

export interface PartitionRouterOptions {
  /** Returns the current state of the copy of the directory. */
  readonly directory: () => DirectoryState
  /** The prefix of the paths of pages. */
  readonly pages: string
  readonly partitions: number
}

export type RoutedRequest = Pick<IncomingMessage, "headers" | "socket" | "url">

interface Remembered {
  readonly header: string
  readonly index: KeyIndex
  readonly partition: number
}

type Indexed = Pick<DirectoryState, "hashSecret" | "keys" | "projects">

const partitionIn = (project: Project | undefined): number | undefined =>
  project && partitionOf(project)

export class PartitionRouter {
  readonly #options: PartitionRouterOptions
  readonly #page: RegExp
  readonly #operations: RegExp
  readonly #delivery = /^(?:\/api)?\/v1\/ingest\/(prj_[a-z0-9_-]+)\//
  readonly #remembered = new WeakMap<Socket, Remembered>()
  #indexed: Indexed | undefined
  #index: KeyIndex | undefined

  constructor(options: PartitionRouterOptions) {
    this.#options = options
    this.#page = new RegExp(
      `^${options.pages}/([a-z0-9-]+)/(?:${environmentNames.join("|")})(?:[/?]|$)`,
    )
    this.#operations = new RegExp(
      `^${options.pages}/operations(?:/archives)?\\?(?:[^#]*&)?partition=([1-9]\\d*)(?:&|$)`,
    )
  }

  /** `undefined`: the copy does not know the key, the token, or the project of the page or the delivery. */
  of({ headers, socket, url = "" }: RoutedRequest): number | undefined {
    const state = this.#options.directory()
    const [, name] = this.#page.exec(url) ?? []
    if (name !== undefined) return partitionIn(projectNamed(state, name))
    const [, projectId] = this.#delivery.exec(url) ?? []
    if (projectId !== undefined) return partitionIn(state.projects.get(projectId))
    const [, number] = this.#operations.exec(url) ?? []
    if (number !== undefined) {
      return Number(number) <= this.#options.partitions ? Number(number) : directoryPartition
    }
    const header = headers.authorization
    if (header === undefined) return directoryPartition
    const index = this.#indexOf(state)
    const remembered = this.#remembered.get(socket)
    if (remembered?.header === header && remembered.index === index) return remembered.partition
    const key = bearerKey(header)
    if (key === undefined) return directoryPartition
    // Text of another form is no key.
    if (!isKeyText(key) && !looksLikeToken(key)) return directoryPartition
    const id = index.projectOf(key)
    const partition = id === undefined ? undefined : partitionIn(state.projects.get(id))
    if (partition !== undefined) this.#remembered.set(socket, { header, index, partition })
    return partition
  }

  #indexOf(state: DirectoryState): KeyIndex {
    const indexed = this.#indexed
    const isSame =
      indexed?.keys === state.keys &&
      indexed.projects === state.projects &&
      indexed.hashSecret === state.hashSecret
    if (!isSame || this.#index === undefined) {
      this.#indexed = state
      this.#index = new KeyIndex(state, new KeyUses())
    }
    return this.#index
  }
}

/*
 * Requests whose key, token or page the copy of the directory does not have. The project may be
 * new, or the copy was not read yet, as at the start of a runner. Such a request waits until the
 * copy was read once more, and only then does the router decide. This happens on the runner that
 * receives the request, and again at the owner, whose copy may be older than the sender's.
 *
 * Unknown keys make the runner read the directory again, at most every `directoryReadPauseMs`, once for
 * all requests that wait. Requests beyond `directoryWaitingMax` are refused. Expired keys are in
 * the directory, so they cause no read.
 */

export class Routing {
  readonly #router: Pick<PartitionRouter, "of">
  readonly #copy: Pick<DirectoryCopy, "renewed">
  readonly #owners: Pick<Owners, "failure">
  #waiting = 0

  constructor(
    router: Pick<PartitionRouter, "of">,
    copy: Pick<DirectoryCopy, "renewed">,
    owners: Pick<Owners, "failure">,
  ) {
    this.#router = router
    this.#copy = copy
    this.#owners = owners
  }

  /** The partition of a request, according to the copy. */
  known(request: RoutedRequest): number | undefined {
    return this.#router.of(request)
  }

  /**
   * The partition of a request. Partition 1 if no project matches. Rejects with `noOwner` if the
   * copy cannot be read.
   */
  find(request: RoutedRequest): number | Promise<number> {
    return (
      this.known(request) ?? this.#renewed().then(() => this.known(request) ?? directoryPartition)
    )
  }

  /** Wraps the `handler` of a partition for a request that another runner has routed to it. */
  atOwner(partition: number, handler: RequestHandler, request: RoutedRequest): RequestHandler {
    // The owner of partition 1 has the directory itself.
    if (partition === directoryPartition || this.known(request) !== undefined) return handler
    return {
      draining: false,
      watch: handler.watch,
      answered: (exchange, status) => handler.answered(exchange, status),
      missed: (exchange) => handler.missed(exchange),
      handle: (exchange) => {
        void this.#renewed().then(
          () => handler.handle(exchange),
          () => exchange.refuse(refusalNow(this.#owners)),
        )
      },
    }
  }

  #renewed(): Promise<void> {
    if (this.#waiting >= limits.directoryWaitingMax) return Promise.reject(noOwner)
    this.#waiting++
    return Effect.runPromise(
      Effect.timeoutOrElse(this.#copy.renewed, {
        duration: limits.ownerWaitMs,
        orElse: () => Effect.fail(noOwner),
      }),
    ).finally(() => {
      this.#waiting--
    })
  }
}
