import { CommanderError } from 'commander';
import { ApiError, CliError, UnreachableError } from './errors.js';

/** How a command ends, for scripts that decide by it. `--help` has the list. */
export const EXIT = { failed: 1, usage: 2, notFound: 3, refused: 4, unreachable: 5, timedOut: 124, interrupted: 130 } as const;

export const EXIT_HELP = `
Exit codes:
  0    it is done
  1    it was tried and came to nothing, or not all of it
  2    the command line is wrong: nothing was asked
  3    there is no such thing
  4    the service has refused
  5    nobody answers, or the service is not available
  124  it has not ended in time (events --watch: with --fail-on-timeout)
  130  Ctrl-C
`;

/** What says that there is no such thing, with another status than 404. */
const MISSING: ReadonlySet<string> = new Set(['sling-missing-bead']);

/** `asked`: whether anything was sent before it failed. What fails before that is wrong with the command line, or with a file it names. */
export function exitCodeOf(error: unknown, asked: boolean): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT.usage;
  if (error instanceof ApiError) return error.isOpen ? EXIT.unreachable : refusalCode(error);
  if (error instanceof UnreachableError) return EXIT.unreachable;
  if (!(error instanceof CliError)) return EXIT.failed;
  return error.exitCode ?? (asked ? EXIT.failed : EXIT.usage);
}

function refusalCode({ status, code }: ApiError): number {
  if (status === 404 || (code !== undefined && MISSING.has(code))) return EXIT.notFound;
  if (status < 500) return EXIT.refused;
  // A proxy has no code: the service itself has asked somebody else, such as the host of a pack, in vain.
  if (status === 502 && code !== undefined) return EXIT.failed;
  return [502, 503, 504].includes(status) ? EXIT.unreachable : EXIT.failed;
}
