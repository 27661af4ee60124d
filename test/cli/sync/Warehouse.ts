/** A project of a real server, and its copy in a schema of its own in a real PostgreSQL. */
import { onTestFinished } from "vitest"
import type { Client } from "../../../src/cli/sync/rows.ts"
import { migrate } from "../../../src/cli/sync/tables.ts"
import { createLaurel } from "../../../src/client/index.ts"
import type { Laurel } from "../../../src/client/Laurel.ts"
import { newClient } from "../../../src/storage/postgres/PgConnection.ts"
import { Place } from "../../http/definitions.ts"
import type { TestServer } from "../../http/fixture.ts"
import type { Postgres } from "../../storage/postgres/Postgres.ts"

export class Warehouse {
  readonly name: string
  readonly place: Place
  readonly laurel: Laurel
  readonly #postgres: Postgres

  constructor(server: TestServer, postgres: Postgres, name: string) {
    this.name = name
    this.place = new Place(server, name)
    this.laurel = createLaurel({ url: server.url, key: this.place.key })
    this.#postgres = postgres
  }

  /** The place of the rows. */
  get own() {
    return { project: `prj_${this.name}`, environment: "sandbox" }
  }

  /** A connection that ends with the test. */
  async connect(): Promise<Client> {
    const client = newClient(this.#postgres.urlOf("public"), {})
    await client.connect()
    onTestFinished(() => client.end())
    await migrate(client, this.name)
    return client
  }

  /** A connection whose statement number `failing` cuts it: an open transaction ends without an effect. */
  async connectCut(failing: number, onCut = () => {}): Promise<Client> {
    const client = await this.connect()
    const query = client.query.bind(client)
    let statements = 0
    return Object.assign(client, {
      query: (...args: Parameters<typeof query>) => {
        if (++statements !== failing) return query(...args)
        onCut()
        client.end()
        return Promise.reject(new Error("cut"))
      },
    }) as Client
  }

  /** Runs a statement in the schema. */
  query(text: string) {
    return this.#postgres.query(text, this.name)
  }

  rows(table: string, columns: string, order: string) {
    return this.query(`SELECT ${columns} FROM ${table} ORDER BY ${order}`)
  }
}
