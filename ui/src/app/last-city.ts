const NAME = 'svc.city';

export function rememberCity(city: string): void {
  try {
    localStorage.setItem(NAME, city);
  } catch {
    // Then the first one it is.
  }
}

/** The city that was looked at last, while it is there; otherwise the first. */
export function lastCity(names: readonly string[]): string | undefined {
  let last: string | null = null;
  try {
    last = localStorage.getItem(NAME);
  } catch {
    // The first one.
  }
  return last !== null && names.includes(last) ? last : names[0];
}
