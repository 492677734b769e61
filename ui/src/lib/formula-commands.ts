/** Says what is run: a script of its own, or one of the formula that it goes on from. */
const RUNS = /\b(?:check|ralph|extends)\b/;

/** Whether to save a formula may need the right to say what is run: only the service knows what it goes on from. */
export const mayRun = (source: string): boolean => RUNS.test(source);
