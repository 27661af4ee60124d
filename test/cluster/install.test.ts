/** One partition that goes back to an archive, while both runners of a cluster go on. Real processes all. */
import { afterAll, beforeAll, expect, it } from "vitest"
import { Postgres } from "../storage/postgres/Postgres.ts"
import { Loads } from "./ClusterLoad.ts"
import { expectGoneBack } from "./goneBack.ts"
import { Inbox } from "./Inbox.ts"
import { type Cluster, startCluster } from "./startCluster.ts"

let postgres: Postgres
let cluster: Cluster
let load: Loads

beforeAll(async () => {
  postgres = await Postgres.make()
  const settings = { ...Inbox.settings, LAUREL_SNAPSHOT_INTERVAL: "1 second" }
  cluster = await startCluster(await postgres.schema("cluster"), 2, settings, 3)
  load = new Loads([cluster.load(1, { partition: 2 })])
})

afterAll(async () => {
  await load?.stop()
  await cluster?.remove()
  await postgres?.remove()
})

it("Other partitions notice nothing, and both runners show what the archive has", async () => {
  const auditOf = async (words: string) => {
    const text = `SELECT 1 FROM laurel_audit WHERE position('${words}' IN convert_from(body, 'UTF8')) > 0`
    return (await postgres.query(text, "cluster")).length
  }
  await expectGoneBack(cluster, 3, auditOf)
  await load.progress(10)
  expect(load.faults).toEqual([])
})
