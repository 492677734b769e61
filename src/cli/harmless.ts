import { escaped, INVISIBLE, OTHER_CONTROLS, unseenWrittenOut } from '../contract/unseen.js';

// oxlint-disable-next-line no-control-regex -- replacing them is the purpose
const CONTROLS = /[\u0000-\u0008\u000b-\u001f]/g;

/**
 * A text of an agent for a terminal: lines and tabs stay, every other control character becomes a sign that shows it. A
 * text that grows stays the beginning of what it grows to, also where a sequence was only half there.
 */
export function harmless(text: string): string {
  return text
    .replace(/\r$/, '')
    .replaceAll(/\r\n?|[\u2028\u2029]/g, '\n')
    .replaceAll(CONTROLS, (sign) => String.fromCharCode(0x2400 + sign.charCodeAt(0)))
    .replaceAll(OTHER_CONTROLS, '\ufffd')
    .replaceAll(INVISIBLE, '');
}

/** A text without what cannot be seen. */
export function seen(text: string): string {
  return text.replaceAll(INVISIBLE, '');
}

/** What the client itself says to a terminal: colours, a line anew, back to what it has drawn, and the keys of `svc attach`. */
const OWN = String.raw`\r(?=\n|\u001b\[)|\u001b\[(?:[\d;]*m|[HJK]|2J|\d+[AC]|\?(?:25|2004)[hl])`;
const OWN_OR_CONTROLS = new RegExp(`(${OWN})|[\\u0000-\\u0008\\u000b-\\u001f]`, 'g');

/**
 * Anything for a terminal, the client's own colours included: what cannot be seen, or tells the terminal to do something else (its title, its
 * clipboard), is written out, as JSON writes it. Words of others go through `plain` or `harmless` before: they have no colours.
 */
export function writtenOut(data: string): string {
  return unseenWrittenOut(data.replaceAll(OWN_OR_CONTROLS, (sign, own?: string) => own ?? escaped(sign)));
}

/** The same in one line. */
export function harmlessLine(text: string): string {
  return harmless(text).replaceAll(/\s+/g, ' ').trim();
}
