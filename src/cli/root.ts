import { Command } from 'commander';
import { VERSION } from '../contract/version.js';
import { pathOf, withCity, withExamples, withTarget } from './command.js';
import { withMeaning } from './elsewhere.js';
import { oneLine } from './errors.js';
import { EXIT_HELP } from './exit-codes.js';
import type { Io } from './io.js';
import { addFormats, addShorts } from './output.js';

/** `svc` without its commands. */
export function rootOf(io: Io): Command {
  const program = new Command('svc')
    .description('Client of the supervisor: cities of coding agents, their events and operations.')
    .version(VERSION, '--version', 'print the version')
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .exitOverride();
  withCity(withTarget(program));
  program.configureOutput({ writeOut: (text) => void io.out(text), writeErr: (text) => io.err(text) });
  withExamples(
    program,
    'svc serve',
    'svc city create alpha --provider loopback',
    'svc session create mayor --message "What is left to do?" --wait --city alpha',
    'svc bead create "Fix the login page" --city alpha',
    'svc config explain workspace --city alpha',
    'svc events --city alpha --follow',
    'eval "$(svc completion bash)"',
  );
  program.addHelpText('after', EXIT_HELP);
  return program;
}

/** What all commands have in common, once they are there. */
export function finish(program: Command, io: Io): Command {
  addFormats(program);
  addShorts(program);
  prefixErrors(program, io);
  return program;
}

/** What is wrong with the command line is told like every other failure: one line that names the command. */
function prefixErrors(command: Command, io: Io): void {
  const path = pathOf(command);
  const names = command.commands.flatMap((sub) => [...sub.aliases(), sub.name()]);
  command.configureOutput({
    outputError: (text) => io.err(`${path}: ${withMeaning(path, oneLine(text.replace(/^error: /, '')), names)}\n`),
  });
  for (const sub of command.commands) prefixErrors(sub, io);
}
