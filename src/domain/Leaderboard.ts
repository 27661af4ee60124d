/** Placeholder */
export interface BoardEntry {
  readonly rank: number
  readonly userId: string
  readonly score: number
}
export interface BoardPage {
  readonly entries: ReadonlyArray<BoardEntry>
  readonly total: number
}
