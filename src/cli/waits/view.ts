import type { Schemas } from '../api.js';
import { age, moment } from '../duration.js';
import type { Io } from '../io.js';
import { block, facts, table } from '../table.js';

export type Wait = Schemas['WaitView'];

const when = (instant: string | undefined): string | undefined => (instant === undefined ? undefined : moment(instant));
const after = (wait: Wait): string => (wait.dep_ids ?? []).join(wait.dep_mode === 'any' ? ' or ' : ', ');

export function waitTable(waits: readonly Wait[], io: Io): string {
  const rows = waits.map((w) => [
    w.id,
    w.state,
    w.session_name ?? w.session_id,
    w.kind,
    after(w),
    w.created_at === undefined ? '' : age(w.created_at),
    w.note ?? '',
  ]);
  return table(['ID', 'STATE', 'SESSION', 'KIND', 'WAITS FOR', 'AGE', 'NOTE'], rows, io);
}

export function waitDetails(w: Wait): string {
  const head = facts([
    ['id', w.id],
    ['state', w.state],
    ['session', w.session_name ?? w.session_id],
    ['kind', w.kind],
    ['waits for', after(w)],
    ['expires', when(w.expires_at)],
    ['ready', when(w.ready_at)],
    ['ended', when(w.closed_at ?? w.failed_at ?? w.expired_at ?? w.canceled_at)],
    ['reason', w.close_reason],
    ['error', w.last_error],
    ['retry of', w.retried_from_wait],
    ['nudge', w.nudge_id],
    ['attempt', w.delivery_attempt],
    ['created', when(w.created_at)],
  ]);
  return w.note === undefined || w.note === '' ? head : `${head}\n${block(w.note)}`;
}
