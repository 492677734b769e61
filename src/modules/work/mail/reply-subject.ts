import { SUBJECT_MAX } from './mail.schemas.js';

const FIRST_LINE_MAX = 80;
const FALLBACK = '(reply)';

/** The subject of a reply: as given, else that of the original after one `Re: `, else the beginning of the reply itself. */
export function replySubject(given: string | undefined, original: string, body = ''): string {
  if (given !== undefined && given.trim() !== '') return given;
  const topic = original.trim();
  if (topic !== '') return cut(/^re:/i.test(topic) ? topic : `Re: ${topic}`, SUBJECT_MAX);
  return cut(body.trim().split(/\r?\n/, 1)[0]!.trim(), FIRST_LINE_MAX) || FALLBACK;
}

/** Never through the middle of a character. */
function cut(text: string, max: number): string {
  return text.length <= max ? text : text.slice(0, max).replace(/[\ud800-\udbff]$/, '');
}
