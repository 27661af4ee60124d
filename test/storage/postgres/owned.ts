import { Effect } from "effect"
import { type ClusterStorageOptions, follow } from "../../../src/storage/postgres/ClusterStorage.ts"

/** Opens a copy, and makes this server the owner. */
export const open = <E = never>(options: ClusterStorageOptions<E>) =>
  Effect.tap(follow(options), ({ claim }) => claim(() => Effect.void))
