/**
 * What is done in a process of its own (`worker.ts`), since it takes long, since damage that LMDB meets can end
 * the process, and since a server's event loop must not wait for it. Jobs, answers and results are plain JSON.
 */
import { Data, Effect, type Scope } from "effect"
import type { Manifest } from "../../storage/archive/ArchiveManifest.ts"
import type { JournalPosition } from "../../storage/journal/SegmentFormat.ts"
import type { Findings } from "./Findings.ts"
import type { ProjectGoesBack } from "./ProjectHistory.ts"

/** The jobs by name, each with what it gets, what it gives, and what it asks whoever has ordered it. */
export interface Jobs {
  /** Makes an archive of the data directory and publishes it. */
  readonly archive: {
    readonly input: {
      readonly directory: string
      readonly archives: string
      /** Epoch milliseconds. */
      readonly at: number
      readonly reason: Manifest["reason"]
      /** Gives way to the server that has the directory, and takes longer. */
      readonly throttled: boolean
    }
    readonly result: Manifest
  }
  /** Makes what is to replace a data directory: an archive and what followed it. */
  readonly restore: {
    readonly input: {
      readonly directory: string
      /** The archive's folder. */
      readonly archive: string
      /** The last record; not before the archive's. */
      readonly until: number
      /** Only this project goes back; `null`: everything does. */
      readonly project: ProjectGoesBack | null
    }
    readonly result: Findings
  }
  /** Finds a project by its name, in a data directory that is whole. */
  readonly project: {
    readonly input: { readonly directory: string; readonly name: string }
    readonly result: { readonly id: string }
  }
  /** Writes an export of a data directory or an archive to a file. */
  readonly export: {
    readonly input: {
      /** The data directory or the archive. */
      readonly folder: string
      readonly file: string
      /** The program's version. */
      readonly laurel: string
      /** Epoch milliseconds. */
      readonly at: number
      /** One environment; `null`: everything. */
      readonly scope: { readonly project: string; readonly environment: string } | null
    }
    readonly result: {
      readonly entries: number
      readonly records: number
      readonly sequence: number
    }
  }
  /** Makes a new data directory of an export, in the draft that is to replace an empty one. */
  readonly import: {
    readonly input: { readonly directory: string; readonly file: string }
    readonly result: Findings & { readonly sequence: number }
  }
  /** Checks a data directory. */
  readonly verifyLive: {
    readonly input: { readonly directory: string }
    readonly result: LiveFindings
  }
  /** Scans the database of a data directory: what is wrong with it, in a sentence, if anything. */
  readonly scan: {
    readonly input: { readonly directory: string }
    readonly result: string | null
  }
  /** Checks an archive: its files against its manifest, and what they hold. */
  readonly verifyArchive: {
    readonly input: { readonly folder: string }
    readonly result: Findings
  }
}

/** What a check of a data directory found, and up to which record. */
export interface LiveFindings extends Findings {
  readonly sequence: number
  readonly watermark: number
  /** Bytes of an interrupted write behind the journal's end, which a start cuts off. */
  readonly interrupted: string | null
}

export type JobName = keyof Jobs
export type Input<Name extends JobName> = Jobs[Name]["input"]
export type ResultOf<Name extends JobName> = Jobs[Name]["result"]

/**
 * The moments of a job at which it waits for whoever has ordered it. At `position` it is told where the durable
 * journal ends (`undefined`: as the files say); at the others, only that it may go on.
 */
export type Step =
  | "begun"
  | "copied"
  | "position"
  | "journal"
  | "verified"
  | "described"
  | "published"

export type PositionAnswer = JournalPosition | undefined

/** What a job is at, for progress bars: `done` of `total`, in units of its own. */
export interface JobProgress {
  readonly activity:
    | "Copying"
    | "Reading"
    | "Checking"
    | "Hashing"
    | "Exporting"
    | "Importing"
    | "Replaying"
  readonly done: number
  readonly total: number
}

/** How a job reaches the process that ordered it. */
export interface JobContext {
  /** Waits for the answer at a step. */
  readonly ask: (step: Step) => Effect.Effect<unknown>
  readonly progress: (progress: JobProgress) => void
}

export type JobCode<Name extends JobName> = (
  input: Input<Name>,
  context: JobContext,
) => Effect.Effect<ResultOf<Name>, unknown, Scope.Scope>

/** `died`: the process ended by a signal, which damage in LMDB's pages causes. `refused`: what was asked for is not possible. */
export type JobFailureKind = "damaged" | "noSpace" | "failed" | "died" | "refused"

export class JobFailed extends Data.TaggedError("JobFailed")<{
  readonly kind: JobFailureKind
  readonly detail: string
}> {
  override get message(): string {
    return this.detail
  }
}

export const damaged = (detail: string) => new JobFailed({ kind: "damaged", detail })

/** Asks for the last durable record; `undefined`: as the files say. */
export const durableEnd = ({ ask }: JobContext) =>
  Effect.map(ask("position"), (answer) => (answer as PositionAnswer)?.lastSequence)

/** What goes from the process to whoever has ordered the job, a line of JSON each. */
export type FromWorker =
  | { readonly progress: JobProgress }
  /** `id` comes back with the answer: one for a process that has died is nobody's. */
  | { readonly ask: Step; readonly id: string }
  | { readonly result: unknown }
  | { readonly failed: { readonly kind: JobFailureKind; readonly detail: string } }
  /** By the shell that runs it: its exit code. */
  | { readonly ended: number }
