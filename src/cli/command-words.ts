import type { Argument, Command, Option } from 'commander';
import type { NameKind } from './names.command.js';

/** The words that may follow a command, by how the command is called. */
export interface Words {
  readonly path: string;
  readonly subcommands: readonly { readonly name: string; readonly about: string }[];
  /** What its arguments may be where that is one of a few, by their places. */
  readonly places: readonly { readonly place: number; readonly about: string; readonly choices: readonly string[] }[];
  readonly options: readonly Flag[];
  /** What its arguments name. */
  readonly names: readonly NameKind[];
}

/** An option, and what stands behind it. */
export interface Flag {
  readonly flag: string;
  readonly short: string | undefined;
  readonly about: string;
  /** What its value names; a value that is neither a name nor a choice is left to the shell. */
  readonly kind: NameKind | undefined;
  readonly choices: readonly string[];
  /** Whether a value follows it. */
  readonly valued: boolean;
}

/** What arguments of a family of commands name, by what they are called there. */
const ARGUMENTS: Readonly<Record<string, Readonly<Record<string, readonly NameKind[]>>>> = {
  city: { name: ['cities'] },
  agent: { name: ['agents'] },
  bead: { id: ['beads'] },
  convoy: { id: ['convoys'] },
  session: { session: ['sessions'] },
  attach: { session: ['sessions'] },
  logs: { name: ['agents'] },
  usage: { session: ['sessions'] },
  order: { name: ['orders'] },
  formula: { name: ['formulas'] },
  service: { name: ['services'] },
  provider: { name: ['providers'] },
  rig: { name: ['rigs'] },
  run: { id: ['runs'] },
  context: { name: ['contexts'] },
  key: { key: ['keys'] },
  sling: { target: ['agents'], bead: ['beads'] },
  why: { name: ['beads', 'agents', 'sessions'] },
};
const OPTIONS: Readonly<Record<string, NameKind>> = {
  '--city': 'cities',
  '--context': 'contexts',
  '--agent': 'agents',
  '--assignee': 'agents',
  '--template': 'agents',
  '--session': 'sessions',
  '--parent': 'beads',
  '--on': 'beads',
  '--formula': 'formulas',
  '--rig': 'rigs',
  '--blocked-by': 'beads',
};

/** Every command of the tree under each of its names, the root first. */
export function wordsOf(command: Command, prefix = '', name = command.name()): Words[] {
  const help = command.createHelp();
  const path = prefix === '' ? name : `${prefix} ${name}`;
  const subcommands = help.visibleCommands(command).filter((sub) => sub.name() !== 'help');
  const names = subcommands.flatMap((sub) => [sub.name(), ...sub.aliases()].map((name) => ({ sub, name })));
  const places = command.registeredArguments.flatMap(({ argChoices = [], description }, place) =>
    argChoices.length === 0 ? [] : [{ place, about: description, choices: argChoices }],
  );
  const own: Words = {
    path,
    subcommands: names.map(({ sub, name }) => ({ name, about: sub.description() })),
    places,
    options: help.visibleOptions(command).flatMap(flagOf),
    names: command.registeredArguments.flatMap((argument) => namedBy(path, argument)),
  };
  return [own, ...names.flatMap(({ sub, name }) => wordsOf(sub, path, name))];
}

function flagOf({ long, short, description, argChoices, required, optional }: Option): Flag[] {
  if (long === undefined || long === null) return [];
  const kind = required || optional ? OPTIONS[long] : undefined;
  return [{ flag: long, short, about: description, kind, choices: argChoices ?? [], valued: required }];
}

/** What is made has no name yet. */
const namedBy = (path: string, argument: Argument): readonly NameKind[] => {
  const [, family = '', verb] = path.split(' ');
  // A session is made of an agent.
  if (verb === 'create') return family === 'session' && argument.name() === 'agent' ? ['agents'] : [];
  return ARGUMENTS[family]?.[argument.name()] ?? [];
};
