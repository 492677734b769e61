import { newKey } from '../lib/wishes.js';

/** The last sign-out in this browser; in a tab the last one before it got its key. */
export const OUT = 'svc.out';

type Kept = Pick<Storage, 'getItem' | 'setItem'>;
const tabOf = (): Kept => sessionStorage;
const deviceOf = (): Kept => localStorage;

/** Somebody signs out. Whoever is frozen, discarded or elsewhere finds it when it wakes: nobody else may be there to tell it. */
export function noteSignOut(device: () => Kept = deviceOf): void {
  try {
    device().setItem(OUT, newKey());
  } catch {
    // Then those alone hear of it that are awake.
  }
}

/** This tab has a key from now on. */
export function noteSignIn(tab: () => Kept = tabOf, device: () => Kept = deviceOf): void {
  try {
    tab().setItem(OUT, device().getItem(OUT) ?? '');
  } catch {
    // Then it lasts as long as the page.
  }
}

/** The last sign-out before this tab got its key. */
export function lastSignOut(tab: () => Kept = tabOf): string {
  try {
    return tab().getItem(OUT) ?? '';
  } catch {
    return '';
  }
}

/** Whether somebody has signed out in this browser since this tab got its key. */
export function isSignedOut(tab: () => Kept = tabOf, device: () => Kept = deviceOf): boolean {
  try {
    return (tab().getItem(OUT) ?? '') !== (device().getItem(OUT) ?? '');
  } catch {
    return false;
  }
}
