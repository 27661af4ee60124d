/**
 * `POST /admin/archives` → 200 and lines of JSON while the archive is being made: `{ "progress": … }` now and
 * then, `{ "waiting": true }` every `adminPulseMs`, at last `{ "archive": … }`, its manifest, or `{ "failed": { kind, detail } }`. A
 * caller that disconnects before the end does not stop the archive. It may wait for those of other partitions.
 */
import path from "node:path"
import { Cause, Effect, Result } from "effect"
import type { Archives } from "../../engine/archive/Archives.ts"
import type { JobFailed, JobProgress } from "../../engine/archive/Jobs.ts"
import { limits } from "../../Limits.ts"
import { detailsOf } from "../../storage/archive/ArchiveDetails.ts"
import type { Exchange } from "../request/Exchange.ts"
import type { Answer } from "./AdminParts.ts"

export type ArchiveLine =
  | { readonly progress: JobProgress }
  | { readonly waiting: true }
  | { readonly archive: unknown }
  | { readonly failed: Pick<JobFailed, "kind" | "detail"> }

/** Makes an archive and streams its progress. */
export const createArchive = (
  archives: Archives["Service"],
  { requestId, response }: Exchange,
): Effect.Effect<void> => {
  const tell = (line: ArchiveLine): void => {
    if (!response.destroyed) response.write(`${JSON.stringify(line)}\n`)
  }
  response.writeHead(200, {
    "Content-Type": "application/x-ndjson",
    "Cache-Control": "no-store",
    "X-Request-Id": requestId,
  })
  const progress = (at: JobProgress) => tell({ progress: at })
  const pulse = Effect.sync(() => tell({ waiting: true })).pipe(
    Effect.delay(limits.adminPulseMs),
    Effect.forever,
  )
  return Effect.raceFirst(archives.create({ reason: "request", progress }), pulse).pipe(
    Effect.matchCauseEffect({
      onSuccess: (archive) => Effect.sync(() => tell({ archive })),
      onFailure: (cause) => {
        const failed = Cause.findError(cause)
        if (Result.isSuccess(failed)) {
          const { detail, kind } = failed.success
          return Effect.sync(() => tell({ failed: { kind, detail } }))
        }
        tell({ failed: { kind: "failed", detail: "The log has the cause under the request id." } })
        return Effect.annotateLogs(Effect.logError("An admin request failed", cause), { requestId })
      },
    }),
    Effect.ensuring(Effect.sync(() => response.end())),
  )
}

/** The archives in the folder of this server; `server`: its address in the cluster. */
export const listOf = (archives: Archives["Service"], server: string | undefined): Answer =>
  Effect.map(archives.list, (listed) => ({
    status: 200,
    body: {
      server: server ?? null,
      archives: listed.map((each) => detailsOf({ ...each, folder: path.resolve(each.folder) })),
    },
  }))
