/**
 * The ways to ask actors: one or many commands, with or without an Idempotency-Key. Answers are
 * durable.
 */
import { Effect, Fiber, References } from "effect"
import type { Repeat } from "../../domain/decide/Repeat.ts"
import { type ReplyTo, replyOf } from "../../domain/message/UserReply.ts"
import type { JournalRecord, UserCommand } from "../../domain/record/Record.ts"
import { type LaurelError, laurelError, type Refusal } from "../../domain/values/Errors.ts"
import { type Broken, isDamagedRecord } from "../../storage/Storage.ts"
import type { Idempotency, IdempotencyKeys, Reservation } from "../dedupe/Idempotency.ts"
import {
  type Actor,
  type Answer,
  type Envelope,
  type IntakeCode,
  type LogAnnotations,
  recordDamaged,
  type StorageCode,
  type UserCode,
  type UserMessage,
} from "./Actor.ts"
import type { ActorSystem } from "./ActorSystem.ts"
import type { BatchRoom, Room } from "./BatchRoom.ts"

/**
 * `repeat`: an earlier command with the same id made the record; `replayed`: an earlier request with
 * the same Idempotency-Key did.
 */
export interface Answered {
  readonly record: JournalRecord
  readonly repeat: Repeat | undefined
  readonly replayed: boolean
}

/** The reply or the refusal that a user's command gets. */
export type Outcome<Command extends UserCommand> = ReplyTo<Command> | LaurelError<UserCode<Command>>

/**
 * The outcomes of many commands, counted. `differing` are the duplicates whose content differs from
 * that of the first.
 */
export interface Tally {
  readonly accepted: number
  readonly duplicates: number
  readonly differing: number
  readonly refusals: ReadonlyArray<Refusal>
}

/** Gives a command to its actor. */
type HandOn<Command> = (envelope: Envelope<Command>) => void

export class Requests {
  readonly #actors: ActorSystem
  readonly #batches: BatchRoom
  readonly #idempotency: IdempotencyKeys
  readonly #onBroken: (cause: Broken) => void

  constructor(
    actors: ActorSystem,
    batches: BatchRoom,
    idempotency: IdempotencyKeys,
    onBroken: (cause: Broken) => void,
  ) {
    this.#actors = actors
    this.#batches = batches
    this.#idempotency = idempotency
    this.#onBroken = onBroken
  }

  /** To a user's actor, which is looked up or made when the command is sent. */
  toUser(environment: string, userId: string): HandOn<UserCommand> {
    return (envelope) => this.#actors.acceptForUser(environment, userId, envelope)
  }

  /** To a project actor or the directory. */
  to<State, Command>(actor: Actor<State, Command>): HandOn<Command> {
    return (envelope) => this.#actors.accept(actor, envelope)
  }

  /** Asks one command; `prepare` as in `Envelope`. */
  one<Command>(
    handOn: HandOn<Command>,
    command: Command,
    idempotency?: Idempotency,
    prepare?: Effect.Effect<Command, Broken>,
  ): Effect.Effect<Answered, LaurelError> {
    return Effect.callback((resume) => {
      handOn({
        command,
        prepare,
        idempotency,
        annotations: annotationsHere(),
        answered: (record, repeat) => resume(Effect.succeed({ record, repeat, replayed: false })),
        refused: (error) => resume(Effect.fail(error)),
      })
    })
  }

  /** Asks without a caller; calls `over` with whether the command was accepted. */
  tell<State, Command>(
    actor: Actor<State, Command>,
    command: Command,
    over: (done: boolean) => void,
  ): void {
    this.#actors.accept(actor, {
      command,
      idempotency: undefined,
      annotations: undefined,
      answered: () => over(true),
      refused: () => over(false),
    })
  }

  /** As `Engine.askUserWithCallback`. */
  withCallback<Command extends UserCommand>(
    environment: string,
    { command, userId }: UserMessage<Command>,
    annotations: LogAnnotations,
    done: (outcome: Outcome<Command>) => void,
  ): void {
    this.#actors.acceptForUser(environment, userId, {
      command,
      idempotency: undefined,
      annotations,
      answered: (record, repeat) => done(replyOf(record, repeat) as ReplyTo<Command>),
      refused: done as (error: LaurelError) => void,
    })
  }

  /** Asks once for each Idempotency-Key: returns the earlier answer, or that of `command`. */
  once<Command>(
    environment: string,
    handOn: HandOn<Command>,
    command: Command,
    idempotency: Idempotency,
  ): Effect.Effect<Answered, LaurelError> {
    return Effect.flatMap(this.reserve(environment, idempotency), (reservation) => {
      if (reservation.fresh) {
        // If the caller is interrupted, the key must stay reserved while the command runs.
        return Effect.uninterruptible(
          Effect.ensuring(this.one(handOn, command, idempotency), Effect.sync(reservation.release)),
        )
      }
      return Effect.succeed({ record: reservation.record, repeat: undefined, replayed: true })
    })
  }

  /**
   * Asks many once there is room for all. Without room for too long it fails, and nothing was
   * applied.
   */
  batch<Command extends UserCommand>(
    environment: string,
    messages: ReadonlyArray<UserMessage<Command>>,
  ): Effect.Effect<ReadonlyArray<Outcome<Command>>, LaurelError<IntakeCode>> {
    return this.#batches.enter(environment, messages, (room) =>
      this.many(environment, messages, room),
    )
  }

  /** Asks many; a refusal does not affect the others. Outcomes are in the order of `messages`. */
  many<Command extends UserCommand>(
    environment: string,
    messages: ReadonlyArray<UserMessage<Command>>,
    room?: Room,
  ): Effect.Effect<ReadonlyArray<Outcome<Command>>> {
    return Effect.callback((resume) => {
      const outcomes = new Array<Outcome<Command>>(messages.length)
      const gathered = new Gathered(
        messages.length,
        (index, record, repeat) => {
          outcomes[index] = replyOf(record, repeat) as Outcome<Command>
        },
        (index, error) => {
          outcomes[index] = error as Outcome<Command>
        },
        () => resume(Effect.succeed(outcomes)),
      )
      this.#send(environment, messages, gathered, room)
    })
  }

  /**
   * `many` without a fiber and without replies: calls `given` for each answer, with the error of
   * a refusal, and last `over`.
   */
  each(
    environment: string,
    messages: ReadonlyArray<UserMessage>,
    given: (index: number, refusal: LaurelError | undefined) => void,
    over: () => void,
  ): void {
    const gathered = new Gathered(messages.length, (index) => given(index, undefined), given, over)
    this.#send(environment, messages, gathered, undefined)
  }

  /** `batch` without replies. */
  tally(
    environment: string,
    messages: ReadonlyArray<UserMessage>,
  ): Effect.Effect<Tally, LaurelError<IntakeCode>> {
    return this.#batches.enter(environment, messages, (room) =>
      Effect.callback<Tally>((resume) => {
        let accepted = 0
        let duplicates = 0
        let differing = 0
        const refusals: Array<Tally["refusals"][number]> = []
        const gathered = new Gathered(
          messages.length,
          (_index, _record, repeat) => {
            if (repeat === undefined) accepted++
            else {
              duplicates++
              if (repeat.differs.length > 0) differing++
            }
          },
          (index, error) => refusals.push({ index, error }),
          () => {
            refusals.sort((a, b) => a.index - b.index)
            resume(Effect.succeed({ accepted, duplicates, differing, refusals }))
          },
        )
        this.#send(environment, messages, gathered, room)
      }),
    )
  }

  #send(
    environment: string,
    messages: ReadonlyArray<UserMessage>,
    gathered: Gathered,
    room: Room | undefined,
  ): void {
    const annotations = annotationsHere()
    messages.forEach(({ command, userId }, index) => {
      const envelope = new OneOfMany(gathered, index, command, annotations)
      this.#actors.acceptForUser(environment, userId, envelope, room !== undefined)
    })
    room?.leave()
  }

  /** As `Engine.reserve`. */
  reserve(environment: string, idempotency: Idempotency): Effect.Effect<Reservation, LaurelError> {
    return Effect.matchEffect(this.#idempotency.reserve(environment, idempotency), {
      onSuccess: (reservation) => {
        const refused = reservation.fresh ? undefined : reservation.record.kept?.error
        return refused === undefined
          ? Effect.succeed(reservation)
          : Effect.fail({ ...refused, replayed: true })
      },
      onFailure: (error) => Effect.fail(error._tag === "Broken" ? this.broken(error) : error),
    })
  }

  /**
   * Reports a failure of the storage, which ends the process; returns the answer for the caller. A
   * damaged record does not end it.
   */
  readonly broken = (cause: Broken): LaurelError<StorageCode> => {
    if (isDamagedRecord(cause)) return recordDamaged
    this.#onBroken(cause)
    return laurelError("storage_unavailable", "The storage failed; the server stops.", {
      retryAfterSeconds: 5,
    })
  }
}

/** The log annotations of the current fiber. */
const annotationsHere = (): LogAnnotations =>
  Fiber.getCurrent()?.getRef(References.CurrentLogAnnotations)

/** Collects the outcomes of many commands until the last one is answered. */
class Gathered {
  readonly answered: (index: number, record: JournalRecord, repeat?: Repeat) => void
  readonly refused: (index: number, error: LaurelError) => void
  readonly #done: () => void
  #open: number

  constructor(
    count: number,
    answered: Gathered["answered"],
    refused: Gathered["refused"],
    done: () => void,
  ) {
    this.answered = answered
    this.refused = refused
    this.#done = done
    this.#open = count
    if (count === 0) done()
  }

  settled(): void {
    if (--this.#open === 0) this.#done()
  }
}

class OneOfMany implements Envelope<UserCommand> {
  readonly command: UserCommand
  readonly idempotency = undefined
  readonly annotations: LogAnnotations
  readonly #gathered: Gathered
  readonly #index: number

  constructor(
    gathered: Gathered,
    index: number,
    command: UserCommand,
    annotations: LogAnnotations,
  ) {
    this.annotations = annotations
    this.#gathered = gathered
    this.#index = index
    this.command = command
  }

  answered(record: JournalRecord, repeat?: Repeat): void {
    this.#gathered.answered(this.#index, record, repeat)
    this.#gathered.settled()
  }

  refused(error: LaurelError): void {
    this.#gathered.refused(this.#index, error)
    this.#gathered.settled()
  }
}

/** The reply to a user's command. */
export const toReply = <Command extends UserCommand>({
  record,
  repeat,
  replayed,
}: Answered): Answer<ReplyTo<Command>> => ({
  reply: replyOf(record, repeat) as ReplyTo<Command>,
  replayed,
})
