/** The limits of items. `Limits.ts` includes them. */
export const itemLimits = {
  /** In an environment, without archived ones, and archived ones. */
  itemsMax: 1_000,
  archivedItemsMax: 1_000,
  /** Currencies in a price. */
  itemPricesMax: 10,
  itemStockMax: 1_000_000_000,
} as const
