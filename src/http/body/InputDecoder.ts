/** Decodes one part of a request with its schema: first its bounds (`InputBounds.ts`), then the Schema. */
import { Result, type Schema, type SchemaAST, SchemaParser } from "effect"
import type { Fault } from "../../domain/values/Errors.ts"
import { compileBounds } from "./InputBounds.ts"
import { schemaFaults } from "./SchemaFaults.ts"

/** The decoded value, or at most `most` faults whose pointers begin with `root`, at most one for each place. */
export type InputDecoder<Value> = (
  value: unknown,
  root: string,
  most: number,
) => Result.Result<Value, ReadonlyArray<Fault>>

/** The decoder of `schema`, made at its first use: a server has about a hundred, and most are never used. */
export const inputDecoder = <Value>(
  schema: Schema.Top,
  options: SchemaAST.ParseOptions,
): InputDecoder<Value> => {
  let decoder: InputDecoder<Value> | undefined
  return (value, root, most) => {
    decoder ??= makeDecoder<Value>(schema, options)
    return decoder(value, root, most)
  }
}

const makeDecoder = <Value>(
  schema: Schema.Top,
  options: SchemaAST.ParseOptions,
): InputDecoder<Value> => {
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
