/** What turns the direction of writing or hides: it could make a text look like another one. */
const INVISIBLE = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;
// eslint-disable-next-line no-control-regex -- replacing them is the purpose
const CONTROLS = /[\u0000-\u0008\u000b-\u001f]/g;
const OTHERS = /[\u007f-\u009f]/g;

/**
 * A text of an agent for a terminal: lines and tabs stay, every other control character becomes a sign that shows it. A
 * text that grows stays the beginning of what it grows to, also where a sequence was only half there.
 */
export function harmless(text: string): string {
  return text
    .replace(/\r$/, '')
    .replaceAll(/\r\n?|[\u2028\u2029]/g, '\n')
    .replaceAll(CONTROLS, (sign) => String.fromCharCode(0x2400 + sign.charCodeAt(0)))
    .replaceAll(OTHERS, '\ufffd')
    .replaceAll(INVISIBLE, '');
}

/** The same in one line. */
export function harmlessLine(text: string): string {
  return harmless(text).replaceAll(/\s+/g, ' ').trim();
}
