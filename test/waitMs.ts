/**
 * How long a test waits for a state that must come. On a machine that is many times slower than usual the state still comes in
 * time; where it never does, this is shorter than the timeout of a test, so that the report names the state.
 */
export const waitMs = 240_000
/** The longest test takes half a minute on two quiet cores, in many steps. */
export const testTimeoutMs = 4 * waitMs
