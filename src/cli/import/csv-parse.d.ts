/** What the import uses of csv-parse. */
declare module "csv-parse" {
  import type { Transform } from "node:stream"

  export interface Options {
    readonly bom: boolean
    readonly delimiter: string
    readonly relax_column_count: boolean
    readonly skip_empty_lines: boolean
    readonly trim: boolean
    readonly info: boolean
  }
  export const parse: (options: Options) => Transform
  export class CsvError extends Error {}
}
