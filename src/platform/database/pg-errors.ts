import { ProblemError, problem } from '../../contract/problems.js';
import { audited } from '../audit/audited-request.js';

/** read_only_sql_transaction: an administrator, or a service of a cloud whose disk is nearly full, lets nobody write. */
const TAKES_NO_WRITES = '25006';
/** SQLSTATEs after which the same request may simply be repeated: nothing was written. */
const RETRYABLE = new Set([
  '40001', // serialization_failure
  '40P01', // deadlock_detected
  '55P03', // lock_not_available (lock_timeout)
  '57014', // query_canceled (statement_timeout)
  TAKES_NO_WRITES,
  '25P03', // idle_in_transaction_session_timeout
  '53100', // disk_full
  '53200', // out_of_memory
  '53300', // too_many_connections
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
]);
const NETWORK = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);
const POOL_MESSAGES = ['timeout exceeded when trying to connect', 'Connection terminated', 'Client has encountered a connection error'];

/** The connection was lost while a transaction was to be committed: whether it was is not known. */
export class CommitUnknown extends Error {
  constructor(cause: unknown) {
    super('the connection was lost during the commit', { cause });
  }
}

/** What has become of a commit that has failed. */
export function ofCommit(error: unknown): unknown {
  return isRetryable(error) && !isAnswer(error) ? new CommitUnknown(error) : error;
}

/** Whether the server itself has answered, so that nothing was done. Not for class 08: a pooler reports a lost connection with that, as if it were the server. */
export function isAnswer(error: unknown): boolean {
  return error instanceof Error && 'severity' in error && codeOf(error)?.startsWith('08') !== true;
}

function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/** Whether a transaction was rolled back for a lock that others hold, or a deadlock. */
export function isHeldByOthers(error: unknown): boolean {
  return ['40P01', '55P03'].includes(codeOf(error) ?? '');
}

/** The same, or a statement that took longer than it may. */
export function isBlocked(error: unknown): boolean {
  return isHeldByOthers(error) || isTooSlow(error);
}

/** Whether a statement took longer than it may. */
export function isTooSlow(error: unknown): boolean {
  return codeOf(error) === '57014';
}

/** True when the database (or the way to it) failed and a later try may succeed. */
export function isRetryable(error: unknown): boolean {
  if (error instanceof CommitUnknown) return true;
  const code = codeOf(error);
  if (code !== undefined && (RETRYABLE.has(code) || NETWORK.has(code) || code.startsWith('08'))) return true;
  if (error instanceof AggregateError) return error.errors.some(isRetryable);
  return error instanceof Error && POOL_MESSAGES.some((m) => error.message.startsWith(m));
}

/** The constraint a unique or foreign key violation names, or undefined. */
export function violatedConstraint(error: unknown): string | undefined {
  const code = codeOf(error);
  if (code !== '23505' && code !== '23503' && code !== '23514') return undefined;
  const constraint = (error as { constraint?: unknown }).constraint;
  return typeof constraint === 'string' ? constraint : undefined;
}

/** What the pool and the query builder say once the process has closed them; a repeat succeeds elsewhere, never here. */
const CLOSED_MESSAGES = ['Cannot use a pool after calling end on the pool', 'driver has already been destroyed'];

function isClosed(error: unknown): boolean {
  return error instanceof Error && CLOSED_MESSAGES.includes(error.message);
}

/** What was done before the failure: a request that waits for what comes of it has committed by then. */
function whatWasDone(again = ''): string {
  if (audited()?.recorded !== true) return `nothing was changed${again}`;
  return 'what was asked for may have been done all the same; repeat it with the same Idempotency-Key';
}

/** A retryable database failure as a 503 problem with Retry-After; anything else is returned unchanged. */
export function toProblem(error: unknown): unknown {
  if (isClosed(error)) return problem('unavailable', `this process is stopping; ${whatWasDone(', try again')}`, { cause: error });
  if (error instanceof ProblemError || !isRetryable(error)) return error;
  if (error instanceof CommitUnknown)
    return problem('unavailable', `${error.message} and it is not known whether it was done; repeat it with the same Idempotency-Key`, {
      cause: error,
    });
  if (codeOf(error) === '53100') return problem('unavailable', `the disk of the database is full; ${whatWasDone()}`, { cause: error });
  if (codeOf(error) === TAKES_NO_WRITES)
    return problem('unavailable', `the database takes no writes; ${whatWasDone(', try again')}`, { cause: error });
  return problem('unavailable', `the database is busy or not reachable; ${whatWasDone(', try again')}`, { cause: error });
}
