/** A failure that the user is told in one line. */
export class CliError extends Error {
  constructor(
    message: string,
    readonly exitCode = 1,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'CliError';
  }
}

/** Nobody answers at the address, or the connection broke. */
export class UnreachableError extends CliError {}

/** The API refused. */
export class ApiError extends CliError {
  constructor(
    message: string,
    readonly status: number,
    readonly code: string | undefined,
    /** Milliseconds after which the server invites another try. */
    readonly retryAfterMs: number | undefined,
  ) {
    super(message);
  }
}

/** Ctrl-C. Without a message nothing is said: it is the usual way to end what goes on for ever. */
export class InterruptedError extends CliError {
  constructor(message = '') {
    super(message, 130);
  }
}

/** One line, whatever the message holds. */
export function oneLine(text: string): string {
  return text.replaceAll(/\s*[\r\n]+\s*/g, ' ').trim();
}

/** What an unknown failure says for itself, causes of network failures included. */
export function reason(error: unknown): string {
  const { cause, message } = (typeof error === 'object' && error !== null ? error : {}) as { cause?: unknown; message?: unknown };
  const { code, message: why } = (typeof cause === 'object' && cause !== null ? cause : {}) as { code?: unknown; message?: unknown };
  for (const text of [code, why, message]) if (typeof text === 'string' && text !== '') return text;
  return String(error);
}
