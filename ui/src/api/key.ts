import { hub } from '../live/hub.js';
import { signOuts } from './signed-out.js';
import { beginsWith, isAnother } from './which-key.js';
import { leave } from './whose.js';

/**
 * The key of this page: kept for the tab, and in the shared worker, so that a link opened in another tab needs none. It is in no address,
 * no cookie and no text of an error.
 */
const NAME = 'svc.key';
let key: string | null = null;
const listeners = new Set<() => void>();

/** `#key=…`, from `svc ui`: taken out of the address before anything else, and never in the place of a key that is there. */
function fromFragment(): string | null {
  const found = /^#key=([\w-]{1,512})$/.exec(location.hash)?.[1];
  if (location.hash.startsWith('#key=')) history.replaceState(history.state, '', location.pathname + location.search);
  return found ?? null;
}

function stored(): string | null {
  try {
    return sessionStorage.getItem(NAME) ?? localStorage.getItem(NAME);
  } catch {
    return null;
  }
}

/** Before anything is asked of the service. */
export async function findKey(): Promise<void> {
  const given = fromFragment();
  const shared = await hub.ready;
  // A tab that was discarded, or was elsewhere, still has what was forgotten in all others.
  if (hasInTab() && signOuts.since()) {
    forgetInTab();
    leave();
  }
  key = beginsWith(shared.key, stored(), given);
  // The worker goes with the last page: one that is loaded anew has what its tab keeps.
  if (key !== null) keepInTab(key, key === shared.key ? shared.out : undefined);
  if (key !== shared.key) hub.offerKey(key);
  hub.onKey((next, first, out) => {
    if (!isAnother(key, next, first)) return;
    key = next;
    if (next === null) forgetInTab();
    else keepInTab(next, out);
    for (const tell of listeners) tell();
  });
  for (const wakes of ['storage', 'pageshow', 'focus']) addEventListener(wakes, look);
  for (const wakes of ['visibilitychange', 'resume']) document.addEventListener(wakes, look);
}

/** What a page is told while it is frozen may be lost with whoever was to tell it. */
function look(): void {
  if (key !== null && signOuts.since()) hub.signedOut();
}

export const keyNow = (): string | null => key;

export function useKey(next: string, remember: boolean): void {
  key = next;
  keepInTab(next);
  try {
    if (remember) localStorage.setItem(NAME, next);
    else localStorage.removeItem(NAME);
  } catch {
    // Then it lasts as long as the tab.
  }
  hub.useKey(next);
  for (const tell of listeners) tell();
}

/** A new secret of the key that is used, in all tabs, and remembered where that was. */
export function renewKey(next: string): void {
  let remembered = false;
  try {
    remembered = key !== null && localStorage.getItem(NAME) === key;
  } catch {
    // Then it lasts as long as the tab.
  }
  useKey(next, remembered);
}

/** In all tabs. */
export function forgetKey(): void {
  key = null;
  forgetStored();
  signOuts.note();
  hub.useKey(null);
  for (const tell of listeners) tell();
}

export function onKeyChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** @param out the last sign-out before it, where it was not chosen right now */
function keepInTab(next: string, out?: string): void {
  signOuts.signedIn(out);
  try {
    sessionStorage.setItem(NAME, next);
  } catch {
    // Then it lasts as long as the page.
  }
}

function forgetStored(): void {
  forgetInTab();
  try {
    localStorage.removeItem(NAME);
  } catch {
    // There is nothing then.
  }
}

function hasInTab(): boolean {
  try {
    return sessionStorage.getItem(NAME) !== null;
  } catch {
    return false;
  }
}

function forgetInTab(): void {
  try {
    sessionStorage.removeItem(NAME);
  } catch {
    // There is nothing then.
  }
}
