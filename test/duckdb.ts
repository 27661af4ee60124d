/** Questions to Parquet files, in SQL. */
import { DuckDBInstance } from "@duckdb/node-api"

type Row = Readonly<Record<string, unknown>>

/** The rows of `sql`, with numbers for whole numbers. `$` stands for the folder of the export. */
export const askDuckDb = async (folder: string, sql: string): Promise<ReadonlyArray<Row>> => {
  const instance = await DuckDBInstance.create(":memory:", { threads: "1" })
  const connection = await instance.connect()
  try {
    const reader = await connection.runAndReadAll(sql.replaceAll("$", folder))
    return reader
      .getRowObjectsJS()
      .map((row) =>
        Object.fromEntries(
          Object.entries(row).map(([name, value]) => [
            name,
            typeof value === "bigint" ? Number(value) : value,
          ]),
        ),
      )
  } finally {
    connection.closeSync()
    instance.closeSync()
  }
}
