/**
 * Runners whose connections to PostgreSQL and to each other each go through a separate `Link`.
 * Runners that join later have no links.
 */
import type { Postgres } from "../storage/postgres/Postgres.ts"
import { Link, type LinkState } from "./Link.ts"
import { Runner } from "./Runner.ts"

export class Network {
  readonly runners: ReadonlyArray<Runner>
  readonly #toPostgres: ReadonlyMap<Runner, Link>
  readonly #toRunners = new Map<Runner, Map<Runner, Link>>()

  private constructor(toPostgres: ReadonlyMap<Runner, Link>) {
    this.runners = [...toPostgres.keys()]
    this.#toPostgres = toPostgres
  }

  static async make(
    postgres: Postgres,
    schema: string,
    count: number,
    settings: Readonly<Record<string, string>>,
  ): Promise<Network> {
    const toPostgres = new Map<Runner, Link>()
    for (let index = 0; index < count; index++) {
      const link = await Link.to(postgres.port)
      const LAUREL_CLUSTER = postgres.urlOf(schema, link.port)
      toPostgres.set(await Runner.make({ ...settings, LAUREL_CLUSTER }), link)
    }
    const network = new Network(toPostgres)
    for (const from of network.runners) {
      const links = new Map<Runner, Link>()
      const detours: Record<string, number> = {}
      for (const to of network.runners.filter((runner) => runner !== from)) {
        const port = Number(to.internal.split(":")[1])
        const link = await Link.to(port)
        links.set(to, link)
        detours[port] = link.port
      }
      network.#toRunners.set(from, links)
      from.trouble = { detours, clock: { jumpMs: 0 } }
    }
    return network
  }

  toPostgres(runner: Runner): Link {
    return this.#toPostgres.get(runner)!
  }

  /** Between this runner and all others, in both directions. */
  setPeers(runner: Runner, state: LinkState): void {
    for (const link of this.#toRunners.get(runner)!.values()) link.set(state)
    for (const links of this.#toRunners.values()) links.get(runner)?.set(state)
  }

  async close(): Promise<void> {
    const peers = [...this.#toRunners.values()].flatMap((links) => [...links.values()])
    await Promise.all([...this.#toPostgres.values(), ...peers].map((link) => link.close()))
    await Promise.all(this.runners.map((runner) => runner.remove()))
  }
}
