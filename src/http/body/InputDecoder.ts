/** Decodes one part of a request with its schema: first its bounds (`InputBounds.ts`), then the Schema. */
import { Result, type Schema, type SchemaAST, SchemaParser } from "effect"
import type { Fault } from "../../domain/values/Errors.ts"
import { compileBounds } from "./InputBounds.ts"
import { schemaFaults } from "./SchemaFaults.ts"

/**
 * The decoder of `schema`: the decoded value, or at most `most` faults whose pointers begin with `root`, at most one for
 * each place.
 */
export const inputDecoder = <Value>(
  schema: Schema.Top,
  options: SchemaAST.ParseOptions,
): ((value: unknown, root: string, most: number) => Result.Result<Value, ReadonlyArray<Fault>>) => {
  const bounds = compileBounds(schema)
  const decode = SchemaParser.decodeUnknownResult(
    schema as unknown as Schema.ConstraintDecoder<Value>,
    options,
  )
  return (value, root, most) => {
    const bounded = bounds(value, root, most)
    if (bounded.faults.length >= most) return Result.fail(bounded.faults)
    const decoded = decode(bounded.value)
    if (Result.isSuccess(decoded)) {
      return bounded.faults.length === 0
        ? Result.succeed(decoded.success)
        : Result.fail(bounded.faults)
    }
    return Result.fail(schemaFaults(decoded.failure, root, most, bounded.faults))
  }
}
