import { gistOf } from '../../client/gist.js';
import { harmlessLine } from '../harmless.js';
import type { Io } from '../io.js';
import { cut, widthOf } from '../table.js';
import type { Envelope } from './filter.js';

/** As wide as most of each are: what is longer moves what stands behind it, as nobody knows what comes later. */
const WIDTHS = { type: 30, subject: 8, actor: 10 };
/** What an event says keeps at least this much. */
const GIST_MIN = 16;

/** An event for a person: when, where, what, about what, by whom, and what it says. */
export function eventLine(event: Envelope, io: Io): string {
  const { ts, city, type, subject = '', actor = '' } = event;
  const gist = gistOf(event);
  const when = new Date(ts).toISOString().slice(11, 19);
  const where = city === undefined ? '' : `${harmlessLine(city) || '-'}  `;
  const name = padded(harmlessLine(type), WIDTHS.type);
  const about = `${padded(harmlessLine(subject) || '-', WIDTHS.subject)}  ${padded(harmlessLine(actor), WIDTHS.actor)}`;
  const room = io.width === undefined ? Infinity : io.width - widthOf(`${when}  ${where}${name}  ${about}  `);
  const text = gist === undefined ? '' : `  ${cut(harmlessLine(gist), Math.max(GIST_MIN, room))}`;
  const style = /fail|reject|crash|dead|lost/.test(type) ? '31' : '36';
  const coloured = (code: string, words: string): string => (io.colour ? `\u001b[${code}m${words}\u001b[0m` : words);
  return `${coloured('2', when)}  ${where}${coloured(style, name)}  ${`${about}${text}`.trimEnd()}\n`;
}

const padded = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - widthOf(text)));
