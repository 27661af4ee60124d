/** Checks the pages of a snapshot's database, also beside the server that writes it. */
import { Effect } from "effect"
import type { JobCode } from "./jobTable.ts"
import { findPageFault } from "./pageFault.ts"

export const pages: JobCode<"pages"> = ({ live }, { progress }) =>
  Effect.sync(() => findPageFault(live, progress) ?? null)
