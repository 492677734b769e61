import type { Schemas } from '../api.js';
import { age } from '../duration.js';
import type { Io } from '../io.js';
import { table } from '../table.js';

type Drift = Schemas['SessionDrift'];

const NEXT: Readonly<Record<Drift['next'], string>> = {
  restart_now: 'restarts now',
  restart_after_turn: 'restarts after its turn',
  restart_after_answer: 'restarts once it is answered',
  restart_after_resume: 'starts with it when resumed',
  restarting: 'is being restarted',
  stopping: 'is being stopped',
  accepted: 'goes on: accepted',
  kept: 'goes on: auto_restart_on_drift is off',
};

export function driftTable(sessions: readonly Drift[], io: Io): string {
  const rows = sessions.map(({ session_id, template, alias, started_at, differs, next }) => [
    session_id,
    template,
    alias ?? '',
    started_at === undefined ? '' : age(started_at),
    NEXT[next],
    differs.length === 0 ? 'unknown' : differs.join(', '),
  ]);
  return table(['ID', 'OF', 'ALIAS', 'STARTED', 'NEXT', 'DIFFERS'], rows, io);
}

export function acceptedLine({ accepted, differs }: Schemas['SessionDriftAcceptedBody']): string {
  if (!accepted) return 'runs with what the configuration says';
  return `goes on as it is${differs.length === 0 ? '' : ` (${differs.join(', ')})`}`;
}

export function manyAccepted({ agent, accepted, skipped }: Schemas['DriftAcceptedBody']): string {
  const going =
    accepted.length === 0 ? `no session of ${agent} runs with an older configuration` : `go on as they are: ${accepted.join(', ')}`;
  return [going, ...skipped.map(({ id, reason }) => `skipped ${id}: ${reason}`)].join('; ');
}
