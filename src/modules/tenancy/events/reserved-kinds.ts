/** Kinds that only this product itself may record begin with one of these. People answer what a question says. */
export const RESERVED = ['request.', 'supervisor.', 'city.', 'controller.', 'events.', 'session.interaction.'] as const;

/** Letters and figures that look like those of the reserved words, by what they look like. Letters with marks lose these before. */
const LOOKALIKES: Readonly<Record<string, string>> = {
  a: 'аɑαᴀ@',
  c: 'сⅽϲᴄ',
  e: 'еєҽ℮ɘǝ3',
  i: 'іιıɩⅰl1|!ӏ∣ⅼǀ',
  n: 'ոռпη',
  o: 'оοօ0ᴏ',
  p: 'рρ',
  q: 'ԛգ',
  r: 'гᴦꭇ',
  s: 'ѕꜱ5$',
  t: 'тτ',
  u: 'υսᴜ',
  v: 'νѵᴠⅴ',
  y: 'уγүу',
  '.': '․。·∙⋅・ꓸ',
};
const LOOKS_LIKE = new Map(Object.entries(LOOKALIKES).flatMap(([letter, others]) => [...others].map((other) => [other, letter])));

/** What a kind looks like to a careless reader or program: no case, no marks, no blanks, nothing invisible, one alphabet. */
function canonical(kind: string): string {
  const bare = kind
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[\p{M}\p{C}\p{Z}\s\u115f\u1160\u3164\uffa0]/gu, '');
  return Array.from(bare, (letter) => LOOKS_LIKE.get(letter) ?? letter).join('');
}

const TAKEN = RESERVED.map(canonical);

/** True for a kind of the product's own and for what could be taken for one. */
export function isReserved(kind: string): boolean {
  const seen = canonical(kind);
  return TAKEN.some((prefix) => seen.startsWith(prefix));
}
