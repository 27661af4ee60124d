/** The limits of what warehouses read. `Limits.ts` includes them. */
export const warehouseLimits = {
  /** The facts that a request may ask for at once. */
  factsPageMax: 1_000,
  /** A page of facts ends after as many records of the journal, whoever they belong to. */
  factsScanRecordsMax: 20_000,
  /** A page of facts ends after records of as many bytes. */
  factsPageBytesMax: 4 * 1024 * 1024,
}
