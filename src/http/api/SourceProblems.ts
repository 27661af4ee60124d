/** The errors of sources and of their deliveries. */
import { projectId, sourceId } from "./examples/exampleIds.ts"
import {
  BadRequest,
  BodyTooLarge,
  InternalError,
  problem,
  RateLimited,
  Unavailable,
  UnsupportedMediaType,
} from "./Problems.ts"

const sourcePath = `/v1/sources/${sourceId}`

export const SourceNotFound = problem("SourceNotFound", ["source_not_found"])
export const DeliveredSourceNotFound = problem("DeliveredSourceNotFound", ["source_not_found"], {
  source_not_found: {
    detail: "No source has this address, or it is archived.",
    instance: `/v1/ingest/${projectId}/sandbox/${sourceId}`,
  },
})
export const SourceSecretConflict = problem(
  "SourceSecretConflict",
  ["quota_exceeded", "invalid_transition", "idempotency_in_progress"],
  {
    quota_exceeded: {
      detail:
        "A source has at most 3 valid secrets. Wait until one ends, or end all previous ones with graceSeconds 0.",
      instance: `${sourcePath}/rotate-secret`,
    },
    invalid_transition: {
      detail: "An archived definition cannot change.",
      instance: `${sourcePath}/rotate-secret`,
    },
  },
)
export const InvalidSignature = problem("InvalidSignature", ["invalid_signature"])

/** Errors of a delivery of a source, which needs no API key. */
export const deliveryProblems = [
  BadRequest,
  InvalidSignature,
  DeliveredSourceNotFound,
  BodyTooLarge,
  UnsupportedMediaType,
  RateLimited,
  InternalError,
  Unavailable,
] as const
