/** What turns the direction of writing, hides or cannot be seen: it could make a text look like another one. */
export const INVISIBLE =
  /[\u17b4\u17b5\u180b-\u180f\u061c\u115f\u1160\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]/gu;
/** Terminals obey them as well as the controls that JSON itself writes out. */
export const OTHER_CONTROLS = /[\u007f-\u009f]/g;

/** What JSON leaves as it is, although a terminal obeys it or nobody sees it, written out as JSON may: in JSON the text says the same. */
export function unseenWrittenOut(text: string): string {
  return text.replaceAll(OTHER_CONTROLS, escaped).replaceAll(INVISIBLE, escaped);
}

export function escaped(sign: string): string {
  return Array.from({ length: sign.length }, (_, n) => `\\u${sign.charCodeAt(n).toString(16).padStart(4, '0')}`).join('');
}
