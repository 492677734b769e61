import { Command, CommanderError } from 'commander';
import { inFlags } from './body-flags.js';
import { askedBy, pathOf } from './command.js';
import { ApiError, CliError, oneLine } from './errors.js';
import { exitCodeOf } from './exit-codes.js';
import { FAMILIES } from './families.js';
import type { Io } from './io.js';
import { Output } from './output.js';
import { finish, rootOf } from './root.js';
import { plain } from './table.js';

/** Options of the root that are followed by their value. */
const VALUED = new Set(['--api', '--context', '--key-file', '--ca-cert', '--city', '-c']);

/** The first word that is none of the root's options, nor the value of one. */
export function familyOf(args: readonly string[]): string | undefined {
  for (let at = 0; at < args.length; at++) {
    const word = args[at]!;
    if (VALUED.has(word)) at++;
    else if (!word.startsWith('-')) return word;
  }
  return undefined;
}

/**
 * The commands that this command line needs: those of its family, of which loading all would cost twice as much; the whole tree for
 * whatever is about all of them, such as help, completion and a word that is no command.
 */
async function programFor(args: readonly string[], io: Io): Promise<Command> {
  if (args.length === 1 && args[0] === '--version') return finish(rootOf(io), io);
  const name = familyOf(args) ?? '';
  const family = Object.hasOwn(FAMILIES, name) ? FAMILIES[name] : undefined;
  if (family === undefined) return (await import('./program.js')).buildProgram(io);
  const program = rootOf(io);
  (await family())(program, io);
  return finish(program, io);
}

/**
 * What `help` and a path of commands ask for: the help of that command, where commander takes one word behind `help` and leaves out what follows. Behind
 * a command that has none below it, words are its arguments. Nothing of what is asked about is run: a word that is no command is refused.
 */
function helped(words: readonly string[], program: Command): { readonly asked: Command; readonly line: readonly string[] } {
  const path: string[] = [];
  let at = program;
  for (const word of words) {
    if (at.commands.length === 0 || word === 'help') break;
    const next = at.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (next === undefined) return { asked: namesOf(at), line: [word] };
    path.push(word);
    at = next;
  }
  return { asked: program, line: [...path, '--help'] };
}

/** A command that does nothing itself, and knows what is below it. */
function namesOf(command: Command): Command {
  const names = new Command(command.name()).showSuggestionAfterError().exitOverride().configureOutput(command.configureOutput());
  for (const below of command.createHelp().visibleCommands(command)) names.command(below.name()).aliases(below.aliases());
  return names;
}

/** How something is repeated of which nobody knows whether it was done: the key that was sent was made for this one call. */
function again(error: unknown, { options }: Command): string {
  const { sentKey: key, sentWords: words } = error instanceof CliError ? error : {};
  if (key === undefined || !options.some(({ long }) => long === '--idempotency-key')) return '';
  return `; repeat it with \`${words === undefined ? '' : `${plain(words)} `}--idempotency-key ${plain(key)}\``;
}

const SEE_LIST = /; see `svc [a-z]+ list`$/;

/** A word more on what is not there; it takes a request, and modules that most never need. */
async function aboutMissing(error: ApiError, io: Io): Promise<string> {
  const known = askedBy(io);
  if (known === undefined) return '';
  const { aboutMissingCity } = await import('./cities/missing-city.js');
  const { aboutMissingName } = await import('./missing-name.js');
  return (await aboutMissingCity(error, known)) || (await aboutMissingName(error, known, io.signal));
}

/** Runs one command line (without `node` and the script) and returns its exit code. Never throws. */
export async function runCli(args: readonly string[], around: Io): Promise<number> {
  const io = new Output(around);
  const topic = args[0] === 'help' && args.every((word) => !word.startsWith('-')) ? args.slice(1) : [];
  const program = await programFor(topic.length > 0 ? topic : args, io);
  const { asked, line } = topic.length > 0 ? helped(topic, program) : { asked: program, line: args };
  let running = program;
  program.hook('preAction', (_program, action) => {
    running = action;
    return io.begin(action);
  });
  const tell = async (error: unknown): Promise<number> => {
    if (!(error instanceof CommanderError)) {
      const message = plain(oneLine((error as { message?: string } | null)?.message ?? String(error)));
      const more = error instanceof ApiError ? await aboutMissing(error, io).catch(() => '') : '';
      // Who is told more needs no list beside it.
      const said = inFlags(more === '' ? message : message.replace(SEE_LIST, ''), running);
      if (message !== '') io.err(`${pathOf(running)}: ${said}${plain(more)}${again(error, running)}\n`);
    }
    return exitCodeOf(error, io.asked);
  };
  let code = 0;
  try {
    await asked.parseAsync(line, { from: 'user' });
  } catch (error) {
    code = await tell(error);
  }
  await io.end(code !== 0).catch(async (error: unknown) => {
    code = code === 0 ? await tell(error) : code;
  });
  return code;
}
