import os from "node:os"
import path from "node:path"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"
import { testTimeoutMs, waitMs } from "./waitMs.ts"

const root = path.resolve(import.meta.dirname, "..")

/**
 * The files that take longest, in the order in which they start. Started late, one of them would
 * run alone at the end, on one core. Some spend most of their time waiting: files that use the
 * processor run beside them. A file that is missing here costs time, and nothing else.
 */
const first = [
  "test/cluster/cluster.test.ts",
  "test/cluster/spread.test.ts",
  "test/dashboard/browser/pages.test.ts",
  "test/e2e/shutdownLoad.test.ts",
  "test/deploy/package.test.ts",
  "test/generators/generators.test.ts",
  "test/e2e/damagedDatabase.test.ts",
  "test/storage/postgres/ClusterStorage.test.ts",
  "test/e2e/dashboard.test.ts",
  "test/e2e/cluster.test.ts",
  "test/cluster/Placement.test.ts",
  "test/e2e/startFaults.test.ts",
  "test/cli/commands/demo.test.ts",
  "test/e2e/learningApp.test.ts",
  "test/http/docs/accessibility.test.ts",
  "test/torture/torture.test.ts",
  "test/e2e/listen.test.ts",
  "test/e2e/exhaustion.test.ts",
  "test/cluster/gather.test.ts",
  "test/storage/lmdb/damage.test.ts",
  "test/e2e/firstStart.test.ts",
  "test/cluster/webhooks.test.ts",
  "test/http/docs/snippets.test.ts",
  "test/e2e/crash.test.ts",
  "test/cli/commands/snapshots.test.ts",
  "test/e2e/keys.test.ts",
  "test/cli/process/RefillCopy.test.ts",
  "test/bench/main.test.ts",
  "test/cluster/admin.test.ts",
].map((file) => path.join(root, file))

/** Starts the files of `first`, then the others, the largest file first. */
class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const bySize = await super.sort(files)
    const rank = ({ moduleId }: TestSpecification) => {
      const place = first.indexOf(moduleId)
      return place < 0 ? first.length : place
    }
    return bySize.toSorted((one, other) => rank(one) - rank(other))
  }
}

export default defineConfig({
  test: {
    // Many tests wait for other processes: half as many workers again as cores keep these busy.
    // Vitest takes "150%" as "100%".
    maxWorkers: Math.ceil(os.availableParallelism() * 1.5),
    // Effect and the program are loaded once, not for every file.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    // Processes and threads that tests start keep their compiled code, where the program itself does.
    env: { NODE_COMPILE_CACHE: path.join(root, "node_modules/.cache/compile") },
    globalSetup: [path.resolve(import.meta.dirname, "dashboard/browser/globalSetup.ts")],
    testTimeout: testTimeoutMs,
    hookTimeout: testTimeoutMs,
    expect: { poll: { timeout: waitMs } },
  },
})
