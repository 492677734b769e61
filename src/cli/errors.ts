/** A failure that the user is told in one line. */
export class CliError extends Error {
  /** Under which a request was sent of which nobody knows what has become: under the same one it is carried out once. */
  sentKey?: string | undefined;
  /** What is said with that key instead of the words that were typed: they would mean something else the next time. */
  sentWords?: string | undefined;

  constructor(
    message: string,
    /** Without one it says itself what kind of failure it is: `exit-codes.ts`. */
    readonly exitCode?: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'CliError';
  }
}

/** For what is sent otherwise than it was typed (`2h` as a time): `.catch(sentAs('--defer 2026-…'))`. */
export const sentAs =
  (words: string | undefined) =>
  (error: unknown): never => {
    if (error instanceof CliError) error.sentWords = words;
    throw error;
  };

/** Nobody answers at the address, or the connection broke. */
export class UnreachableError extends CliError {}

/** The API refused. */
export class ApiError extends CliError {
  /**
   * Whether it may have been done all the same, as it says nothing of a try before it, which had no answer, or that the work goes on: to a
   * script that is as if nobody had answered.
   */
  isOpen = false;

  constructor(
    message: string,
    readonly status: number,
    readonly code: string | undefined,
    /** Milliseconds after which the server invites another try. */
    readonly retryAfterMs: number | undefined,
    options?: ErrorOptions,
  ) {
    super(message, undefined, options);
  }

  /** The same refusal in other words. */
  saying(message: string): ApiError {
    const same = new ApiError(message, this.status, this.code, this.retryAfterMs, { cause: this.cause });
    same.sentKey = this.sentKey;
    same.sentWords = this.sentWords;
    same.isOpen = this.isOpen;
    return same;
  }
}

/** It has not ended in the time that it was given. */
export class TimedOutError extends CliError {
  constructor(message: string) {
    super(message, 124);
  }
}

/** Ctrl-C. Without a message nothing is said: it is the usual way to end what goes on for ever. */
export class InterruptedError extends CliError {
  constructor(message = '') {
    super(message, 130);
  }
}

/** One line, whatever the message holds. Each run of spaces is looked at once: many without an end of a line take no longer. */
export function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, (spaces) => (/[\r\n]/.test(spaces) ? ' ' : spaces)).trim();
}
