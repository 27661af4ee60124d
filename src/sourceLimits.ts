/** The limits of sources of events. `Limits.ts` includes them. */
export const sourceLimits = {
  /** In an environment, without archived ones, and archived ones. */
  sourcesMax: 20,
  archivedSourcesMax: 100,
  /** Mappings of a source. */
  sourceMappingsMax: 50,
  /** Members of the metadata that a mapping makes. */
  sourceMetadataMax: 20,
  sourceEventCharactersMax: 100,
  pointerCharactersMax: 200,
  pointerTokensMax: 16,
  /** The body of a delivery. GitHub's own limit is 25 MiB, which few deliveries come near. */
  sourceBodyBytesMax: 1024 * 1024,
  sourceSecretCharactersMin: 16,
  sourceSecretCharactersMax: 200,
  /** Secrets of a source that are valid at once. */
  sourceSecretsMax: 3,
  sourceGraceSeconds: 86_400,
  sourceGraceSecondsMax: 7 * 86_400,
  /** How far the time of a signature may be from the server's. */
  sourceToleranceMs: 5 * 60_000,
  /** A header field with signatures. */
  sourceSignatureCharactersMax: 2_000,
  /** Signatures of one delivery that are compared. */
  sourceSignaturesMax: 8,
  /** The latest failures of a source that the server remembers. */
  sourceFailuresMax: 20,
} as const
