import { maskedLines } from '../../files/composition/mask.js';

/** Characters of a command's output that are kept. */
const KEPT = 16 * 1024;
/** Bytes of each output that are read for that: most secrets are longer than what stands for them. */
export const READ = 2 * KEPT;

/**
 * The end of both outputs, without what looks like a secret; error output last, where one looks first. Each line is masked before anything is
 * cut away: a value whose name is gone is known by nothing.
 */
export function outputOf(stdout: string, stderr: string): string {
  const whole = `${stdout}${stdout !== '' && !stdout.endsWith('\n') ? '\n' : ''}${stderr}`.replaceAll('\0', '\uFFFD');
  return maskedLines(whole).slice(-KEPT).toWellFormed();
}
