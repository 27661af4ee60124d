/**
 * The partition that answers a request: that of the project of its key or token, or of the project that a page names, or the one
 * that the page Operations is asked for; the first one for a request that names none. Chosen before there is a handler, by the copy
 * of the directory, so that the other partitions answer while the first has no owner.
 *
 * It decides nothing else: the partition's owner authenticates the request, and refuses keys that have ended. A project stays in its partition, so a copy that
 * lags knows a project or it does not, and never another partition of it.
 *
 * Cost: a key is hashed once for each connection that repeats it; the index is made again when keys or projects change.
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
  /** The copy of the directory, as of now. */
  readonly directory: () => DirectoryState
  /** The path under which pages lie. */
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

  /** `undefined`: the copy does not know the key, the token, or the project of the page. */
  of({ headers, socket, url = "" }: RoutedRequest): number | undefined {
    const state = this.#options.directory()
    const [, name] = this.#page.exec(url) ?? []
    if (name !== undefined) return partitionIn(projectNamed(state, name))
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
    // Text of another form is nobody's key.
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
 * Requests whose key, token or page the copy of the directory does not know: it may be new, or the copy was not read yet, as at
 * the start of a runner. So they wait until the copy was read again, once, before the router's word counts: here before
 * they are sent to the owner of a partition, and at the owner, whose copy may be older than that of the sender.
 *
 * As long as a server of a version from before partitions may own partition 1, nobody publishes the directory, and all projects
 * are there.
 *
 * A stranger with unknown keys makes the runner read the directory again, which it does five times a second at most, for all
 * who wait. Beyond `directoryWaitingMax` waiting requests further ones are refused. Keys that have ended are known.
 */

export class Routing {
  readonly #router: Pick<PartitionRouter, "of">
  readonly #copy: Pick<DirectoryCopy, "renewed" | "wasRead">
  readonly #owners: Pick<Owners, "spreadsProjects" | "failure">
  #waiting = 0

  constructor(
    router: Pick<PartitionRouter, "of">,
    copy: Pick<DirectoryCopy, "renewed" | "wasRead">,
    owners: Pick<Owners, "spreadsProjects" | "failure">,
  ) {
    this.#router = router
    this.#copy = copy
    this.#owners = owners
  }

  /** The partition of a request, as far as the copy knows. */
  known(request: RoutedRequest): number | undefined {
    const isAllInFirst = !this.#copy.wasRead && !this.#owners.spreadsProjects
    return isAllInFirst ? directoryPartition : this.#router.of(request)
  }

  /** The partition of a request, also of one that no project is for; rejects with `noOwner` where the copy cannot be read. */
  find(request: RoutedRequest): number | Promise<number> {
    return (
      this.known(request) ?? this.#renewed().then(() => this.known(request) ?? directoryPartition)
    )
  }

  /** `handler` of a partition, for a request that another runner found to be for it. */
  atOwner(partition: number, handler: RequestHandler, request: RoutedRequest): RequestHandler {
    // The first partition's owner has the directory itself.
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
