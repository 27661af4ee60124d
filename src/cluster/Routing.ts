/**
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
import { Effect } from "effect"
import type { RequestHandler } from "../http/request/Exchange.ts"
import { limits } from "../Limits.ts"
import type { DirectoryCopy } from "./DirectoryCopy.ts"
import { directoryPartition } from "./DirectoryTable.ts"
import { noOwner, refusalNow } from "./Forward.ts"
import type { Owners } from "./Owners.ts"
import type { PartitionRouter, RoutedRequest } from "./PartitionRouter.ts"

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
