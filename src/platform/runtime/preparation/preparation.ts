/** What is done on the runner's host around the start of a process. Commands are lines for a shell; nothing is expanded in them any more. */
export interface Preparation {
  /** Before the process, one after the other. */
  readonly preStart: readonly Step[];
  /** Files that are to lie in the directory of the process. */
  readonly overlay: readonly OverlayFile[];
  /** Where it is remembered which of them are ours: a file of its own for each directory. */
  readonly ledger: string;
  /** When the process is ready. */
  readonly setup: readonly Step[];
  /** After that; what comes of them is told and changes nothing. */
  readonly live: readonly Step[];
  /** What may be told of what a command has written. */
  readonly told: (words: string) => string;
}

export interface Step {
  /** As its owner knows it: the key that has it. */
  readonly key: string;
  /** As it is written, without its secrets: failures are told with it, and everybody of the city hears of them. */
  readonly written: string;
  readonly line: string;
}

export interface OverlayFile {
  /** Below the directory, with `/`, without `.` and `..`. */
  readonly path: string;
  /** Absolute. */
  readonly source: string;
  /** Of the content: another one is not copied. */
  readonly sha256: string;
}
