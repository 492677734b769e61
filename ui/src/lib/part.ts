const NAME = 'svc.reloaded';
const PAUSE_MS = 60_000;

/** A part of the page that could not be loaded: the service is away, or has another version of the page by now. */
export class MissingPart extends Error {
  constructor(cause: unknown) {
    super('This part of the page could not be loaded.', { cause });
  }
}

/**
 * Loads a part when it is first wanted. That it fails tells nobody to load the page anew: a pointer over a link has the view behind it
 * loaded, too. The router would do so for the errors of browsers, also while there is no service.
 */
export const loading =
  <T>(load: () => Promise<T>): (() => Promise<T>) =>
  () =>
    load().catch((error: unknown) => {
      throw new MissingPart(error);
    });

/**
 * Loads the page anew for a part that is shown and missing: after an update its file is gone, and browsers may keep a failed import. Never
 * while nobody answers, which would leave the error page of the browser; by itself not again and again.
 * @param asked by somebody, and not by the page itself.
 */
export async function renew(asked: boolean): Promise<void> {
  const answered = await fetch('/ui/', { cache: 'no-store' }).then(
    ({ ok }) => ok,
    () => false,
  );
  if (answered && (marked() || asked)) location.reload();
}

/** Whether the last time is long ago; from now on it is not. */
function marked(): boolean {
  try {
    if (Date.now() - Number(sessionStorage.getItem(NAME)) < PAUSE_MS) return false;
    sessionStorage.setItem(NAME, String(Date.now()));
    return true;
  } catch {
    return false;
  }
}
