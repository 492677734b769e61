import { gistOf } from '../../client/gist.js';
import { harmlessLine } from '../harmless.js';
import type { Io } from '../io.js';
import { cut } from '../table.js';
import type { Envelope } from './filter.js';

const TYPE_WIDTH = 28;

/** An event for a person: when, where, what, about what, by whom, and what it says. */
export function eventLine(event: Envelope, io: Io): string {
  const { ts, city, type, subject = '', actor = '' } = event;
  const gist = gistOf(event);
  const style = /fail|reject|crash|dead|lost/.test(type) ? '31' : '36';
  const name = harmlessLine(type).padEnd(TYPE_WIDTH);
  const when = new Date(ts).toISOString().slice(11, 19);
  const words = [
    io.colour ? `\u001b[2m${when}\u001b[0m` : when,
    ...(city === undefined ? [] : [harmlessLine(city) || '-']),
    io.colour ? `\u001b[${style}m${name}\u001b[0m` : name,
    harmlessLine(subject) || '-',
    harmlessLine(actor),
  ];
  const text = gist === undefined ? '' : `  ${harmlessLine(gist)}`;
  const room = io.width === undefined ? Infinity : Math.max(20, io.width - when.length - TYPE_WIDTH - subject.length - actor.length - 8);
  return `${words.join('  ')}${cut(text, room)}\n`;
}
