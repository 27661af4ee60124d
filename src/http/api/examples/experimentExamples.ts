/** Experiments in replies. */
import { changes } from "./definitionExamples.ts"
import { experimentId, later, onlyPage } from "./exampleIds.ts"

export const experiment = {
  id: experimentId,
  key: "daily-goal",
  name: "Daily goal",
  description: null,
  status: "active",
  startsAt: null,
  endsAt: later,
  segment: null,
  variants: [
    { key: "control", weight: 1 },
    { key: "goal", weight: 1 },
  ],
  metric: null,
  weightsChangedAt: null,
  metadata: {},
  ...changes,
} as const

export const experimentPage = { experiments: [experiment], ...onlyPage } as const
