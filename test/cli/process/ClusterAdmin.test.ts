/** The partition of an operator's request to a server of a cluster. */
import { expect, it } from "vitest"
import { adminPartition, elsewhere } from "../../../src/cli/process/ClusterAdmin.ts"

const partitionOf = (url: string) => adminPartition(url, 16)

it("The partition of an admin request is the one in its query, and 1 for accounts and keys", () => {
  expect(partitionOf("/admin/archives?partition=3")).toBe(3)
  expect(partitionOf("/admin/position?partition=16")).toBe(16)
  for (const path of ["/admin/archives", "/admin/position", "/admin/keys?partition=3", ""]) {
    expect([path, partitionOf(path)]).toEqual([path, 1])
  }
  for (const named of ["0", "17", "3x", "", "-1", "1e1"]) {
    expect([named, partitionOf(`/admin/archives?partition=${named}`)]).toEqual([named, undefined])
  }
  expect(elsewhere({ address: "10.0.0.5:8082", epoch: 1 }, 3).detail).toContain(
    "10.0.0.5:8082 of the cluster owns partition 3.",
  )
})
