/** A failed request to a bucket as the end of a job. */
import type { BucketError, BucketErrorKind } from "../../../storage/bucket/bucketErrors.ts"
import { JobFailed, type JobFailureKind } from "../jobs/Jobs.ts"

const kinds: Readonly<Record<BucketErrorKind, JobFailureKind>> = {
  missing: "damaged",
  refused: "misconfigured",
  passing: "unavailable",
  failed: "unavailable",
}

export const bucketFailure = ({ detail, kind }: BucketError): JobFailed =>
  new JobFailed({ kind: kinds[kind], detail })
