/**
 * How the pages of a service are opened from here. Where keys are asked for, those of a `private` one are not: a browser sends no key with an
 * address. Those of a `direct` one are, and at the origin of this page their scripts have what this page has, its key as well.
 *
 * @param here the address of this page
 */
export function openingOf(mode: string, address: string, here: string, keys: boolean): 'link' | 'ask' | 'never' {
  if (!keys) return 'link';
  if (mode !== 'direct') return 'never';
  return new URL(address, here).origin === new URL(here).origin ? 'ask' : 'link';
}
