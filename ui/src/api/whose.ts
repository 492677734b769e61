import { OUT } from './signed-out.js';
import type { Info } from './types.js';

const WHO = 'svc.who';
const KEY = 'svc.key';
/** Who calls where nobody needs a key. */
const ANYBODY = 'null';
/** Whoever may read the file of the first key: when nobody may do everything any more, another one stands in it. */
const FIRST = /^admin-[0-9a-f]{12}$/;

/** What a tab keeps over a reload. */
export type TabStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'>;

/** Who somebody is to this page: he may have several keys of one name. */
export function whoOf({ caller: { kind, name } }: { readonly caller: Pick<Info['caller'], 'kind' | 'name'> }): string {
  if (kind === 'anybody') return ANYBODY;
  return kind === 'key' ? JSON.stringify(name.replace(FIRST, 'admin-')) : `${kind} ${name}`;
}

/** Whether somebody may be who was there before, as far as is known: keys may be asked for only since then. */
const maybeSame = (before: string, who: string): boolean => before === who || before === ANYBODY || (who === ANYBODY && before !== '');

/** Of those who sat before a page one after another. */
export interface Person {
  readonly who: string;
  readonly nth: number;
}

/** Who is there now that somebody has signed in. */
export function nextOf(before: Person | undefined, who: string): Person {
  if (before === undefined) return { who, nth: 0 };
  if (!maybeSame(before.who, who)) return { who, nth: before.nth + 1 };
  return who === ANYBODY ? before : { ...before, who };
}

/**
 * Notes who is signed in, by name where anybody may be one who has given it. Tells whether what this tab has kept is somebody else's: drafts, and
 * what he has asked for.
 */
export function isAnothers(who: string, tabOf: () => TabStorage = () => sessionStorage): boolean {
  try {
    const tab = tabOf();
    const before = tab.getItem(WHO);
    const another = before !== null && !maybeSame(before, who);
    if (another || before === null || who !== ANYBODY) tab.setItem(WHO, who);
    return another;
  } catch {
    return false;
  }
}

/** All that somebody has left in this tab, but not its key, which may be the next one's by now. */
export function forgetKept(tabOf: () => TabStorage = () => sessionStorage): void {
  try {
    const tab = tabOf();
    const names = Array.from({ length: tab.length }, (_, n) => tab.key(n));
    for (const name of names) if (name?.startsWith('svc.') === true && ![KEY, WHO, OUT].includes(name)) tab.removeItem(name);
  } catch {
    // There is nothing then.
  }
}

/** Who was signed in leaves: whoever comes next is another one, also by the same key. */
export function leave(tabOf: () => TabStorage = () => sessionStorage): void {
  forgetKept(tabOf);
  try {
    tabOf().setItem(WHO, '');
  } catch {
    // There is nothing then.
  }
}
