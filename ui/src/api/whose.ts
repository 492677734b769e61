const WHO = 'svc.who';
const KEY = 'svc.key';

/** What a tab keeps over a reload. */
export type TabStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'>;

/** Notes who is signed in. Tells whether what this tab has kept is somebody else's: drafts, and what he has asked for. */
export function isAnothers(who: string, tabOf: () => TabStorage = () => sessionStorage): boolean {
  try {
    const tab = tabOf();
    const before = tab.getItem(WHO);
    tab.setItem(WHO, who);
    return before !== null && before !== who;
  } catch {
    return false;
  }
}

/** All that somebody has left in this tab, but not its key, which may be the next one's by now. */
export function forgetKept(tabOf: () => TabStorage = () => sessionStorage): void {
  try {
    const tab = tabOf();
    const names = Array.from({ length: tab.length }, (_, n) => tab.key(n));
    for (const name of names) if (name?.startsWith('svc.') === true && name !== KEY && name !== WHO) tab.removeItem(name);
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
