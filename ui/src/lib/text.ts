/**
 * Characters that are not seen, or that turn what is seen around, by their first and last: controls but tab and newline, soft and zero-width
 * ones, those that set a direction, variations, tags. An agent's text may hide what it does behind them.
 */
const HIDDEN: readonly (readonly [number, number])[] = [
  [0x00, 0x08],
  [0x0b, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfffb],
  [0x13430, 0x1343f],
  [0x1bca0, 0x1bca3],
  [0x1d173, 0x1d17a],
  [0xe0000, 0xe0fff],
];

const isHidden = (point: number): boolean => HIDDEN.some(([first, last]) => point >= first && point <= last);

/** Says what cannot be seen, whatever it is: `⟨U+202E⟩`. For what somebody is to allow. */
export function visibleAll(text: string): string {
  let shown = '';
  for (const character of text) {
    const point = character.codePointAt(0)!;
    shown +=
      point > 0x1f && point < 0x7f ? character : isHidden(point) ? `⟨U+${point.toString(16).toUpperCase().padStart(4, '0')}⟩` : character;
  }
  return shown;
}

/** Emoji that there are, of one character or several; undefined in browsers that do not know them. */
const EMOJI = ((): RegExp | undefined => {
  try {
    return new RegExp('\\p{RGI_Emoji}', 'gv');
  } catch {
    return undefined;
  }
})();
/** Where one may stand: looking for them takes long. */
const MAY_BE_EMOJI = /[\d#*]?[^\0-\x7f]+/g;

/** The same, but for what makes one emoji of several characters: ⚠️ is one with a sign behind it, and a family is joined by some. */
export function visible(text: string): string {
  const all = visibleAll(text);
  if (all === text || EMOJI === undefined) return all;
  let shown = '';
  let at = 0;
  for (const { 0: run, index: start } of text.matchAll(MAY_BE_EMOJI)) {
    for (const { 0: emoji, index } of run.matchAll(EMOJI)) {
      shown += visibleAll(text.slice(at, start + index)) + emoji;
      at = start + index + emoji.length;
    }
  }
  return shown + visibleAll(text.slice(at));
}

const ESC = String.fromCharCode(0x1b);
const BEL = String.fromCharCode(0x07);
const ESCAPES = new RegExp(`${ESC}(?:\\][^${BEL}${ESC}]*(?:${BEL}|${ESC}\\\\)?|[@-Z\\\\^_-]|\\[[0-?]*[ -/]*[@-~])`, 'g');

/** Output of programs without what is meant for a terminal. */
export const plain = (text: string): string => text.replace(ESCAPES, '');

export function ago(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s}s`;
  if (s < 3_600) return `${Math.floor(s / 60)}m`;
  if (s < 172_800) return `${Math.floor(s / 3_600)}h`;
  return `${Math.floor(s / 86_400)}d`;
}

/** Ids as somebody types them: by commas, spaces or lines, each once. */
export const idsIn = (text: string): string[] => [...new Set(text.split(/[\s,]+/).filter((id) => id !== ''))];
