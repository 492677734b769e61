/** Milliseconds. */
export interface AcpTiming {
  /** Of a process that has not said a word of the protocol for so long it is told. */
  readonly silentMs: number;
  /** A prompt that nothing was said about for so long has been taken. */
  readonly acceptedMs: number;
  /** For a turn to end when it is cancelled. */
  readonly cancelMs: number;
  /** For an option to be set. */
  readonly optionMs: number;
  /** Nothing more is coming from a process that has ended and says nothing for so long, */
  readonly quietMs: number;
  /** and nothing is waited for after so long when it was to end. */
  readonly lastWordsMs: number;
}

export const ACP_TIMING: AcpTiming = {
  silentMs: 10_000,
  acceptedMs: 3_000,
  cancelMs: 5_000,
  optionMs: 10_000,
  quietMs: 200,
  lastWordsMs: 2_000,
};
