/** The fact about a user in an experiment. */

/**
 * The user was exposed to a variant of an experiment, which stays the user's. `before`: what the user
 * had of the experiment's metric, scaled, if it adds up; absent: nothing.
 */
export interface ExperimentFact {
  readonly kind: "experiment.exposed"
  readonly experimentId: string
  readonly key: string
  readonly name: string
  readonly variant: string
  readonly before?: number
}
