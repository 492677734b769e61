import type { TypingTiming } from './typing.js';

/** Milliseconds. */
export interface PtyTiming extends TypingTiming {
  /** Between looks at a screen on which nothing happens. */
  readonly pollMs: number;
  /** A screen that has not changed for so long is finished painting. */
  readonly settleMs: number;
  /** A turn has ended when nothing has changed for so long and the next input is waited for; */
  readonly quietMs: number;
  /** for longer when the screen does not say that it waits. */
  readonly silentMs: number;
  /** For a soft interruption, before Ctrl-C. */
  readonly softMs: number;
  /** For any interruption. */
  readonly cancelMs: number;
  /** For a dialog to take an answer. */
  readonly answerMs: number;
}

export const PTY_TIMING: PtyTiming = {
  typedMs: 3_000,
  pauseMs: 300,
  sentMs: 2_000,
  pollMs: 100,
  settleMs: 500,
  quietMs: 2_000,
  silentMs: 6_000,
  softMs: 2_000,
  cancelMs: 5_000,
  answerMs: 3_000,
};
