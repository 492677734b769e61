import { showDuration } from '../duration.js';
import { block, plain } from '../table.js';
import type { Reason, Why } from './reasons.js';

/** The thing in a line, then each reason with its time, and under it what would end it. */
export function told({ kind, id, state, reasons }: Why, now = Date.now()): string {
  return `${plain(`${kind} ${id}: ${state}`)}\n${block(linesOf(reasons, now))}`;
}

/** As a part of everything that is shown of something. */
export function because(reasons: readonly Reason[], now = Date.now()): string {
  return reasons.length === 0 ? '' : `why:\n${block(linesOf(reasons, now))}`;
}

function linesOf(reasons: readonly Reason[], now: number): string {
  return reasons
    .map(
      ({ what, until, ends }) => `${plain(what + timeOf(until, now))}${ends.length === 0 ? '' : `\n  ended by: ${plain(ends.join('; '))}`}`,
    )
    .join('\n');
}

function timeOf(until: string | undefined, now: number): string {
  if (until === undefined) return '';
  if (until.startsWith('9999')) return ', until somebody says otherwise';
  const left = Date.parse(until) - now;
  return `, until ${until.slice(0, 19)}Z${left > 0 ? ` (${showDuration(left)})` : ''}`;
}
