import type { z } from 'zod';
import type { EventDefinition } from '../../contract/events/define.js';
import type { RawBuilder } from 'kysely';
import type { Tx } from '../database/transactions.js';
import type { NewEvent } from '../event-log/event.js';

/**
 * An accepted piece of asynchronous work: a durable row, a job that carries only its id, and exactly one
 * terminal event, `request.result.<kind>` or `request.failed`, written in the transaction that ends the row.
 */
export interface OperationDefinition<I extends z.ZodType = z.ZodType, R extends z.ZodType = z.ZodType> {
  /** Dotted and equal to the job's name, for example `city.create`. */
  readonly kind: string;
  /** Validated when accepted and again when loaded; what is stored is the value before parsing, as JSON. */
  readonly input: I;
  /** The success event; its payload carries `request_id`. */
  readonly succeeded: EventDefinition<R>;
  /** Milliseconds from the claim to `request.failed` with `timeout`; progress extends it. External work counts from its acceptance. */
  readonly deadlineMs: number;
  readonly maxAttempts: number;
  /** What remains in effect although the deadline has passed, in words; part of the message of `timeout`. */
  readonly overdue?: string;
  /**
   * Set when no worker runs it: the transaction that finds the work done ends it with `Operations.end`. A worker
   * touches it only to end it at its deadline.
   */
  readonly external?: boolean;
}

/** How long accepted work may wait in line for a worker; then it ends with `not_started`. */
export const WAIT_MS = 3_600_000;

const definitions = new Map<string, OperationDefinition>();

/**
 * Declares a kind of operation.
 *
 * @throws Error when the kind is already declared.
 * @example export const CityCreate = defineOperation({ kind: 'city.create', input: CityCreateInput, succeeded: CityCreateSucceeded, deadlineMs: 120_000, maxAttempts: 5 });
 */
export function defineOperation<I extends z.ZodType, R extends z.ZodType>(
  definition: OperationDefinition<I, R>,
): OperationDefinition<I, R> {
  if (definitions.has(definition.kind)) throw new Error(`operation declared twice: ${definition.kind}`);
  definitions.set(definition.kind, definition);
  return Object.freeze(definition);
}

/** Every declared operation by its kind, as far as its leaf file has been imported. */
export function knownOperations(): ReadonlyMap<string, OperationDefinition> {
  return definitions;
}

/** An operation that a worker has claimed. Only the holder of this `fence` may finish the row. */
export interface ClaimedOperation<I = unknown> {
  readonly id: string;
  readonly kind: string;
  readonly target: string;
  readonly stream: string;
  readonly input: I;
  readonly attempt: number;
  readonly fence: number;
}

export interface OperationContext {
  /** Aborts when the lease is lost, the deadline passes or the process stops. */
  readonly signal: AbortSignal;
  /** Publishes a phase on the operation's row and extends its deadline. */
  progress(phase: string): Promise<void>;
  /**
   * The same in one statement with a write of the caller, which returns one row where it applies. Answers that row; where there is none, no phase is
   * published. The row of the operation is the second to be locked, as in the transaction that ends it. The write stays also where another worker
   * has the operation by now.
   */
  progressWith<T>(phase: string, write: RawBuilder<T>): Promise<T | undefined>;
  /** As `progress`, after a step that stays done however this attempt ends: attempts are counted anew, so that long work may fail often, but not in a row. */
  advanced(phase: string): Promise<void>;
}

/**
 * How a handler ends. `within` runs in the finishing transaction, once that holds the row and before the terminal event. It
 * does the family's own writes and returns events to append along with the terminal one.
 */
export type OperationOutcome =
  | { readonly ok: true; readonly payload: Record<string, unknown>; readonly within?: (tx: Tx) => Promise<readonly NewEvent[]> }
  | { readonly ok: false; readonly code: string; readonly message: string; readonly within?: (tx: Tx) => Promise<readonly NewEvent[]> };

/** A family's handler. `run` must be re-runnable (check, then act) and holds no transaction around outside work. */
export interface OperationHandler<I extends z.ZodType = z.ZodType> {
  readonly definition: OperationDefinition<I>;
  /** Throwing means "try again" until the attempts are used up (in a row, where it says `advanced`), then `request.failed` with `internal_error`. */
  run(operation: ClaimedOperation<z.output<I>>, context: OperationContext): Promise<OperationOutcome>;
  /**
   * Takes the locks that `within` and `failed` will need. Runs first in the transaction that ends the operation,
   * before the operation's own row is touched: requests lock the target before they accept, so this is the one order.
   */
  lock?(tx: Tx, target: string, stream: string): Promise<void>;
  /** The `request_id` of the terminal event, where the client gave one of its own; the operation's id unless said. */
  requestId?(input: z.output<I>): string;
  /** What else changes when the operation fails from outside (deadline, attempts used up). Runs in that transaction. */
  failed?(tx: Tx, operation: ClaimedOperation<z.output<I>>, code: string, message: string): Promise<readonly NewEvent[]>;
}
