import { inFlags } from './body-flags.js';
import { CliError, InterruptedError, oneLine, UnreachableError } from './errors.js';
import type { CityContext } from './command.js';
import { plain } from './table.js';

/** What changes several things, as `showEach`; the rest is also done where nobody reads any more what is told (`| grep -q`). */
export function each(context: CityContext<object>, names: readonly string[], act: (name: string) => Promise<void>): Promise<void> {
  context.io.finishes = true;
  return showEach(context, names, act);
}

/**
 * Does the same with several things one after another. What fails is told at once and the rest is still done; with
 * one thing its failure is the command's.
 *
 * @throws CliError at the end when any failed; InterruptedError and UnreachableError at once.
 */
export async function showEach(
  context: CityContext<object>,
  names: readonly string[],
  act: (name: string) => Promise<void>,
): Promise<void> {
  const unique = [...new Set(names)];
  let failed = 0;
  for (const name of unique) {
    try {
      await act(name);
    } catch (error) {
      const known = error instanceof CliError && !(error instanceof InterruptedError) && !(error instanceof UnreachableError);
      if (!known || unique.length === 1) throw error;
      failed += 1;
      const said = plain(oneLine(error.message));
      const message = context.command === undefined ? said : inFlags(said, context.command);
      const about = plain(name);
      context.io.err(`${context.path}: ${message.includes(about) ? '' : `${about}: `}${message}\n`);
    }
  }
  if (failed > 0) throw new CliError(`${failed} of ${unique.length} failed${failed === unique.length ? '' : ', the rest is done'}`);
}
