/** `structural`: the city's files are wrong and only a change of them helps. `transient`: the next try may succeed. */
export type FailureClass = 'transient' | 'structural';

/** Why a city cannot be initialized, in words for its owner; `code` is the `error_code` of the terminal event. */
export class InitFailure extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly failureClass: FailureClass = 'structural',
    options?: { cause?: unknown },
  ) {
    super(message, options);
    this.name = 'InitFailure';
  }
}
