import { ask, type Api } from '../api.js';
import type { Failure, Session } from './view.js';

const FAILED = new Set([
  'crashed',
  'failed-create',
  'auth-required',
  'provider-terminal-error',
  'circuit-open',
  'quarantine',
  'context-churn',
]);
const KINDS = ['session.start_failed', 'session.crashed'];

/** Whether a session is down that shall run. */
export function isDown({ state, reason, running }: Session): boolean {
  return !running && (FAILED.has(reason ?? '') || state === 'failed-create' || state === 'quarantined');
}

/** Why a session is down that shall run, as the newest event of its failures says; undefined for one that just sleeps. */
export async function lastFailure(api: Api, cityName: string, session: Session): Promise<Failure | undefined> {
  const { id } = session;
  if (!isDown(session)) return undefined;
  const found = await Promise.all(
    KINDS.map(async (type) => {
      const params = { path: { cityName }, query: { type, subject: id, limit: 1 } };
      return (await ask(api, (signal) => api.http.GET('/v0/city/{cityName}/events', { params, signal }))).data.items;
    }),
  );
  const [newest] = found.flat().sort((a, b) => b.seq - a.seq);
  return newest?.message === undefined ? undefined : { at: newest.ts, message: newest.message };
}
