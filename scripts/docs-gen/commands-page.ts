import type { Argument, Command, Option } from 'commander';
import type { Io } from '../../src/cli/io.js';
import { buildProgram } from '../../src/cli/program.js';
import { code, GENERATED, page, table } from './markdown.js';

const NOBODY: Io = {
  env: {},
  cwd: '/',
  out: () => Promise.resolve(),
  err: () => undefined,
  interactive: false,
  colour: false,
  columns: 80,
  width: undefined,
  height: undefined,
  lines: undefined,
  input: () => Promise.resolve(''),
  signal: new AbortController().signal,
};

/** What all commands know is told once. */
export const EVERYWHERE = new Set(['--help', '--api', '--key-file', '--ca-cert', '--city', '--no-city']);

export function program(): Command {
  return buildProgram(NOBODY);
}

/** A page for each command of the first level, by its name, and one that lists them. */
export function commandPages(): Map<string, string> {
  const root = program();
  const families = visible(root);
  const pages = new Map<string, string>(families.map((family) => [`commands/${family.name()}`, familyPage(family)]));
  pages.set(
    'commands',
    page(
      GENERATED,
      '# Commands',
      '`svc` is a client of the HTTP API and nothing else. `svc COMMAND --help` says the same as these pages.',
      '## On every command',
      options(root.createHelp().visibleOptions(root)),
      '## The commands',
      table(
        ['Command', 'What it does'],
        families.map((family) => [`[\`svc ${family.name()}\`](commands/${family.name()}.md)`, family.description()]),
      ),
    ),
  );
  return pages;
}

function familyPage(family: Command): string {
  return page(GENERATED, `# svc ${family.name()}`, ...walk(family, `svc ${family.name()}`, true));
}

function walk(command: Command, path: string, isFirst = false): string[] {
  const below = visible(command);
  const own = below.length === 0 || command.registeredArguments.length > 0 || isFirst ? [told(command, path, isFirst)] : [];
  return [...own, ...below.flatMap((sub) => walk(sub, `${path} ${sub.name()}`))];
}

function told(command: Command, path: string, isFirst: boolean): string {
  const below = visible(command);
  const help = command.createHelp();
  const own = help.visibleOptions(command).filter(({ long }) => !EVERYWHERE.has(long ?? ''));
  const args = command.registeredArguments;
  // What has options does something itself, whatever there is below it.
  const isFamily = below.length > 0 && args.length === 0 && own.length === 0;
  return [
    isFirst ? '' : `## ${path}`,
    command.description(),
    isFamily ? '' : `\`\`\`\n${[path, usageOf(command, own)].filter((part) => part !== '').join(' ')}\n\`\`\``,
    args.length === 0 ? '' : table(['Argument', 'What it is'], args.map(argumentOf)),
    own.length === 0 ? '' : options(own),
    examplesOf(command),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

const visible = (command: Command): Command[] =>
  command
    .createHelp()
    .visibleCommands(command)
    .filter((sub) => sub.name() !== 'help');

function usageOf(command: Command, own: readonly Option[]): string {
  const args = command.registeredArguments.map((one) => {
    const name = `${one.name()}${one.variadic ? '...' : ''}`;
    return one.required ? `<${name}>` : `[${name}]`;
  });
  return [...(own.length === 0 ? [] : ['[options]']), ...args].join(' ');
}

const argumentOf = (one: Argument): string[] => [
  code(one.name()),
  [one.description, one.argChoices === undefined ? '' : `(${one.argChoices.map(code).join(', ')})`].filter((part) => part !== '').join(' '),
];

const options = (all: readonly Option[]): string =>
  table(
    ['Option', 'What it does'],
    all.map((option) => [code(option.flags), aboutOf(option)]),
  );

function aboutOf({ description, argChoices, defaultValue, defaultValueDescription }: Option): string {
  const more = [
    argChoices === undefined ? '' : `one of ${argChoices.map(code).join(', ')}`,
    defaultValue === undefined || typeof defaultValue === 'boolean'
      ? ''
      : `default ${code(defaultValueDescription ?? String(defaultValue))}`,
  ].filter((part) => part !== '');
  return `${description}${more.length === 0 ? '' : ` (${more.join('; ')})`}`;
}

/** They stand after the help. */
function examplesOf(command: Command): string {
  let text = '';
  command.configureOutput({ writeOut: (part) => (text += part) });
  command.outputHelp();
  const lines =
    /^Examples:\n([\s\S]*)$/m
      .exec(text)?.[1]
      ?.split('\n')
      .filter((line) => line.startsWith('  $ ')) ?? [];
  return lines.length === 0 ? '' : `\`\`\`sh\n${lines.map((line) => line.slice(4)).join('\n')}\n\`\`\``;
}
