import type { Connection, Fault, History } from './history.js';
import type { Violations } from './violations.js';

/** What a busy machine may add to the heartbeat's interval. */
const SLACK_MS = 2_500;
/** Who is still being fed from the log has to wait for the database; the product ends such a stream after ten seconds. */
const POSTGRES_AWAY = 'postgres immediate stop';
const RECOVERY_MS = 2_000;
/** A stream that ends in order within this time, and has said nothing, was never one. */
const AT_ONCE_MS = 1_000;

/** What ends a replica. */
const ENDS: ReadonlySet<string> = new Set(['terminate', 'kill']);

/** Frames in time, or an end; refusals before the headers and as problems. */
export function checkConnections(history: History, violations: Violations): void {
  for (const connection of history.connections) {
    silence(connection, history, violations);
    const said = connection.frames.some((f) => f.id !== undefined);
    const { closedAt, closedBy, openedAt } = connection;
    // A replica that was told to end, or killed, while the stream was being opened has said `retry` and is excused.
    const ended = history.faults.some((f) => ENDS.has(f.name) && f.replica === connection.replica && near(f.from, connection));
    // So is one whose city was stopped in that moment: the next open of the same subscriber finds no city.
    const stopped = history.refusals.some(
      ({ subscriber, status, at }) =>
        subscriber === connection.subscriber && status === 404 && closedAt !== undefined && at >= closedAt && at < closedAt + AT_ONCE_MS,
    );
    if (!said && !ended && !stopped && closedBy === 'server' && closedAt !== undefined && closedAt - openedAt < AT_ONCE_MS) {
      const message = `${connection.subscriber} on ${connection.replica}: 200, then the end after ${closedAt - openedAt} ms without a frame`;
      violations.add('pre-header errors', message, { ...connection, frames: connection.frames.slice(0, 3) });
    }
  }
  for (const refusal of history.refusals) {
    const problem = refusal.contentType.startsWith('application/problem+json') && isProblem(refusal.body, refusal.status);
    const allowed = [400, 401, 403, 404, 410, 429, 503].includes(refusal.status);
    if (!problem || !allowed)
      violations.add('pre-header errors', `an open was refused with ${refusal.status}, not with a problem`, refusal);
  }
}

function near(at: number, { sentAt, closedAt }: Connection): boolean {
  return at > sentAt - AT_ONCE_MS * 6 && at < (closedAt ?? Infinity);
}

function silence(connection: Connection, history: History, violations: Violations): void {
  const { frames, openedAt, closedAt } = connection;
  const away = history.faults.filter((f) => f.name === POSTGRES_AWAY).map((f) => ({ ...f, to: f.to + RECOVERY_MS }));
  const stopped = history.faults.filter((f) => f.pause === true && (f.replica ?? connection.replica) === connection.replica);
  const paused = [...away, ...stopped];
  const limit = history.heartbeatMs + SLACK_MS;
  let last = openedAt;
  const times = [...frames.map((f) => f.at), ...(closedAt === undefined ? [] : [closedAt])];
  for (const at of times) {
    // Cheap test first: most intervals are short.
    if (at - last > limit && at - last - overlap(paused, last, at) > limit) {
      violations.add('no silent stream', `${connection.subscriber} on ${connection.replica}: nothing for ${at - last} ms`, {
        connection: connection.number,
        from: last,
        to: at,
      });
    }
    last = at;
  }
}

function overlap(faults: readonly Fault[], from: number, to: number): number {
  return faults.reduce((sum, f) => sum + Math.max(0, Math.min(f.to, to) - Math.max(f.from, from)), 0);
}

export function isProblem(body: string, status: number): boolean {
  try {
    const problem = JSON.parse(body) as Record<string, unknown>;
    const { code, detail, type } = problem;
    const named = typeof code === 'string' && type === `urn:supervisor:error:${code}`;
    return named && typeof detail === 'string' && /^[a-z_]+: /.test(detail) && problem.status === status;
  } catch {
    return false;
  }
}
