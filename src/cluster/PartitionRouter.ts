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
import { bearerKey } from "../http/request/RequestParts.ts"
import { directoryPartition } from "./DirectoryTable.ts"

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
