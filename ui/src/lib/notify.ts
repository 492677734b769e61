let impossible = false;

export const canNotify = (): boolean => 'Notification' in globalThis && !impossible;

/** Browsers of phones have what makes notices and refuse to use it for a page; that is known only once it is tried. */
export function notify(title: string, options: NotificationOptions): Notification | undefined {
  try {
    return new Notification(title, options);
  } catch {
    impossible = true;
    return undefined;
  }
}
