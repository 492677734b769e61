interface Ended {
  readonly status: string;
  readonly last_error?: { readonly code: string; readonly message?: string };
}

/** What went wrong with a run: its words where there are some, else the code. Nothing of one that was canceled without a word: its state says so. */
export function failureOf({ status, last_error: error }: Ended): string | undefined {
  if (error === undefined) return undefined;
  const { code, message = '' } = error;
  if (message !== '') return `${message} (${code})`;
  return code === status ? undefined : code;
}

/** Whether what is closed of a run is done: what was canceled, or left out, is closed as well. */
export function isDone(status: string): boolean {
  return status !== 'canceled' && status !== 'skipped';
}
