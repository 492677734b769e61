import type { Schemas } from '../api.js';
import { moment, showDuration } from '../duration.js';
import type { Io } from '../io.js';
import { facts, plain, table } from '../table.js';

export type Run = Schemas['MaintenanceRunBody'];
type Status = Schemas['MaintenanceStatusBody'];

export function statusDetails(status: Status): string {
  const { last_run: last, next_scheduled: next, in_flight_start: since, disk } = status;
  return facts([
    ['enabled', `every ${showDuration(status.interval_seconds * 1_000)}`],
    ['in flight', status.in_flight && since !== undefined ? `since ${moment(since)}` : undefined],
    ['next', next === undefined ? undefined : moment(next)],
    ['last', last === undefined ? 'never' : `${moment(last.finished_at)}: ${outcomeOf(last)}`],
    ['size', last === undefined || last.after_bytes === 0 ? undefined : sizeText(last.after_bytes)],
    ['removed', last === undefined ? undefined : removedOf(last)],
    ['disk', disk === 'ok' ? undefined : disk === 'warn' ? 'fills up' : 'nearly full'],
    ...(last?.warnings ?? []).map((warning): [string, string] => ['warning', plain(warning)]),
  ]);
}

export function historyTable(runs: readonly Run[], io: Io): string {
  return table(
    ['STARTED', 'TOOK', 'CAUSE', 'OUTCOME', 'SIZE', 'REMOVED', 'WARNINGS'],
    runs.map((run) => [
      run.started_at.replace(/\.\d+Z$/, 'Z'),
      showDuration(run.duration_s * 1_000),
      run.cause,
      outcomeOf(run),
      run.after_bytes === 0 ? '' : sizeText(run.after_bytes),
      removedOf(run) ?? '',
      run.warnings.length === 0 ? '' : String(run.warnings.length),
    ]),
    io,
  );
}

export function outcomeOf({ err, stage, skipped }: Run): string {
  if (err !== undefined) return `failed in ${stage}: ${plain(err)}`;
  return skipped === undefined ? 'done' : 'skipped, the disk is nearly full';
}

function removedOf({ removed }: Run): string | undefined {
  const { runs, sessions, folders } = removed;
  const many = (n: number, of: string): string[] => (n === 0 ? [] : [`${n} ${of}${n === 1 ? '' : 's'}`]);
  const all = [...many(runs, 'run'), ...many(sessions, 'session'), ...many(folders, 'folder')];
  return all.length === 0 ? undefined : all.join(', ');
}

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

function sizeText(bytes: number): string {
  let n = bytes;
  let unit = 0;
  for (; n >= 1024 && unit < UNITS.length - 1; unit++) n /= 1024;
  return `${unit === 0 ? n : n.toFixed(1)} ${UNITS[unit]!}`;
}
