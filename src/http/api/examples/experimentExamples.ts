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

const counted = {
  metric: null,
  atLeast: null,
  retention: "D7",
  measure: "share",
  since: "exposure",
  countedAt: later,
  counting: false,
} as const

export const experimentResults = {
  experiment: experiment.key,
  ...counted,
  variants: [
    {
      key: "control",
      weight: 1,
      exposed: 2010,
      users: 1900,
      value: 0.36,
      interval: { low: 0.3387, high: 0.3818 },
      difference: null,
    },
    {
      key: "goal",
      weight: 1,
      exposed: 1990,
      users: 1880,
      value: 0.41,
      interval: { low: 0.3881, high: 0.4324 },
      difference: { value: 0.05, low: 0.0189, high: 0.0809, excludesZero: true },
    },
  ],
  leftOut: 3,
  sampleRatio: { chiSquare: 0.1, p: 0.7518, mismatch: false },
  warnings: [],
} as const

export const shortResult = {
  ...counted,
  variants: [
    { key: "control", users: 1900, value: 0.36, difference: null },
    {
      key: "goal",
      users: 1880,
      value: 0.41,
      difference: { value: 0.05, low: 0.0189, high: 0.0809, excludesZero: true },
    },
  ],
  enoughUsers: true,
  warnings: [],
} as const

export const experimentPage = {
  experiments: [{ ...experiment, result: shortResult }],
  ...onlyPage,
} as const
