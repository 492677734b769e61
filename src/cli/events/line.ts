import { gistOf } from '../../client/gist.js';
import { harmlessLine } from '../harmless.js';
import type { Io } from '../io.js';
import { cut, widthOf } from '../table.js';
import type { Envelope } from './filter.js';

/** As wide as most of each are: what is longer moves what stands behind it, as nobody knows what comes later. */
const WIDTHS = { type: 30, subject: 8, actor: 10 };
/** What an event says has at least this much before anything stands below what is above it: first whom it is about and by, then its type lose their place. */
const GIST_MIN = 24;
/** Less than this of it says nothing. */
const GIST_LEAST = 4;
const PADDED = [WIDTHS, { ...WIDTHS, subject: 0, actor: 0 }, { type: 0, subject: 0, actor: 0 }] as const;

/** An event for a person: when, where, what, about what, by whom, and as much of what it says as has room on the line. */
export function eventLine(event: Envelope, io: Io): string {
  const { ts, city, type, subject = '', actor = '' } = event;
  const gist = gistOf(event);
  const when = new Date(ts).toISOString().slice(11, 19);
  const where = city === undefined ? '' : `${harmlessLine(city) || '-'}  `;
  const laid = PADDED.map((widths) => {
    const name = padded(harmlessLine(type), widths.type);
    const about = `${padded(harmlessLine(subject) || '-', widths.subject)}  ${padded(harmlessLine(actor), widths.actor)}`;
    const room = io.width === undefined ? Infinity : io.width - widthOf(`${when}  ${where}${name}  ${about}  `);
    return { name, about, room };
  });
  const { name, about, room } = laid.find((one) => one.room >= GIST_MIN) ?? laid.at(-1)!;
  const text = gist === undefined || room < GIST_LEAST ? '' : `  ${cut(harmlessLine(gist), room)}`;
  const style = /fail|reject|crash|dead|lost/.test(type) ? '31' : '36';
  const coloured = (code: string, words: string): string => (io.colour ? `\u001b[${code}m${words}\u001b[0m` : words);
  return `${coloured('2', when)}  ${where}${coloured(style, name)}  ${`${about}${text}`.trimEnd()}\n`;
}

const padded = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - widthOf(text)));
