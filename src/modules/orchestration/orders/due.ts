import type { OrderDefinition } from './order-definition.js';
import { timesAfter } from './wall-clock.js';

/** Between two looks at a condition that has no interval. */
export const LOOK_MS = 30_000;
/** A slot that is this old was missed: nobody looked. */
const MISSED_MS = 60_000;
/** Until an order that must not be fired now is looked at again: its city, or its rig, is suspended, and nobody is told that it goes on. */
const BLOCKED_MS = { least: 15_000, most: 2 * 60_000 } as const;
/** The same, where the city does not run: its orders are looked at when it starts. */
export const STOPPED_MS = 15 * 60_000;

type Timed = Pick<OrderDefinition, 'trigger' | 'interval' | 'schedule' | 'tz' | 'catch_up'>;

/**
 * When an order is due next by itself; undefined for one that waits for an event or for somebody.
 *
 * @param lastStart when it was fired last; undefined for one that never was
 */
export function dueAfter(order: Timed, lastStart: Date | undefined, now: Date): Date | undefined {
  switch (order.trigger) {
    case 'cooldown':
      return lastStart === undefined ? now : new Date(lastStart.getTime() + order.interval!);
    case 'cron':
      return timesAfter(order.schedule!, order.tz, now)[0];
    case 'condition':
      return lastStart === undefined ? now : new Date(now.getTime() + (order.interval ?? LOOK_MS));
    default:
      return undefined;
  }
}

/** The slot has passed while nobody looked, and the order does not make up for that. */
export function isMissed(order: Timed, due: Date, now: Date): boolean {
  return order.trigger === 'cron' && order.catch_up === 'none' && now.getTime() - due.getTime() > MISSED_MS;
}

/**
 * How long an order that must not be fired is left alone: a quarter of what it has waited by now, so that what stands still for long is not
 * written again and again. One that makes up for nothing would miss its next slot by that.
 */
export function blockedFor(order: Timed, due: Date | undefined, now: Date): number {
  if (due === undefined || (order.trigger === 'cron' && order.catch_up === 'none')) return BLOCKED_MS.least;
  return Math.min(Math.max((now.getTime() - due.getTime()) / 4, BLOCKED_MS.least), BLOCKED_MS.most);
}

/** The next firings that are known. */
export function nextFirings(order: Timed, due: Date | undefined, now: Date, count: number): Date[] {
  if (order.trigger === 'cron') return timesAfter(order.schedule!, order.tz, now, count);
  if (order.trigger !== 'cooldown' || due === undefined) return [];
  const first = Math.max(due.getTime(), now.getTime());
  return Array.from({ length: count }, (_, n) => new Date(first + n * order.interval!));
}

/** Why it is due, or why not, in words. */
export function reasonOf(order: Timed & { readonly on?: string }, lastStart: Date | undefined, due: Date | undefined, now: Date): string {
  switch (order.trigger) {
    case 'cooldown': {
      if (lastStart === undefined) return 'never run';
      const elapsed = now.getTime() - lastStart.getTime();
      return elapsed >= order.interval!
        ? `elapsed ${shown(elapsed)} >= interval ${shown(order.interval!)}`
        : `cooldown: ${shown(order.interval! - elapsed)} remaining`;
    }
    case 'cron':
      if (due === undefined || due > now) return 'cron: schedule not matched';
      return now.getTime() - due.getTime() > MISSED_MS ? 'cron: caught up missed occurrence' : 'cron: schedule matched';
    case 'manual':
      return 'manual trigger: run it by hand';
    case 'webhook':
      return 'webhook trigger: dispatched by the webhook receiver';
    case 'event':
      return 'event: no matching events';
    default:
      return 'condition: not checked yet';
  }
}

function shown(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  return `${hours > 0 ? `${hours}h` : ''}${hours > 0 || minutes > 0 ? `${minutes}m` : ''}${seconds % 60}s`;
}
