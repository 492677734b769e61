import { resolve } from 'node:path';
import type { Command } from 'commander';
import { flagsOf, printJson, withExamples } from '../command.js';
import { CliError } from '../errors.js';
import { EXIT } from '../exit-codes.js';
import type { Io } from '../io.js';
import { facts, table } from '../table.js';
import { addressesOf } from '../target.js';
import { defined } from '../values.js';
import { changeContexts, contextInUse, readContexts, type Named } from './file.js';

interface SetFlags {
  readonly server?: string | false;
  readonly keyFile?: string | false;
  readonly caCert?: string | false;
  readonly city?: string | false;
}

/** Services under names: `svc context use work`. Nothing here asks a service. */
export function addContext(program: Command, io: Io): void {
  const context = program.command('context').description('services that you work with, by names of your own');
  context.addHelpText(
    'after',
    `
--api, --key-file, --ca-cert and --city count before SVC_API_URL, SVC_API_KEY, SVC_CA_CERT and SVC_CITY, these before the
context (--context, SVC_CONTEXT, or the one of \`svc context use\`), and that before the server and the city of the directory.
The key and the city of a context are for its own server alone.
`,
  );

  const list = context
    .command('list')
    .description('list the contexts; * is the one in use')
    .option('--json', 'print one JSON line for each');
  withExamples(list, 'svc context list');
  list.action(async (_options, action: Command) => {
    const { contexts } = readContexts(io.env);
    const current = contextInUse(io, undefined)?.name;
    const names = Object.keys(contexts).sort();
    if (flagsOf<{ json?: boolean }>(action).json === true) {
      for (const name of names) await printJson(io, { name, current: name === current, ...contexts[name] });
      return;
    }
    if (names.length === 0) return io.err('no contexts; make one with `svc context set work --server https://svc.example`\n');
    const row = (name: string, { server = '', city = '', key_file: key = '' }: Named): string[] => [
      name === current ? '*' : '',
      name,
      server,
      city,
      key,
    ];
    return io.out(
      table(
        ['USED', 'NAME', 'SERVER', 'CITY', 'KEY FILE'],
        names.map((name) => row(name, contexts[name]!)),
        io,
      ),
    );
  });

  const use = context.command('use').description('use a context from now on').argument('<name>', 'the context');
  withExamples(use, 'svc context use work');
  use.action(async (name: string) => {
    await changeContexts(io, (all) => {
      must(all.contexts, name);
      return { ...all, current: name };
    });
    await io.out(`${name} is used from now on\n`);
  });

  const set = context
    .command('set')
    .description('make a context, or change what is named; the first one is used at once')
    .argument('<name>', 'the context')
    .option('--server <url>', 'address of the service, or of several replicas with commas between')
    .option('--no-server', 'the server of the directory, as without a context')
    .option('--key-file <path>', 'file that holds the API key')
    .option('--no-key-file', 'no key')
    .option('--ca-cert <path>', 'PEM file of a certificate authority to trust beside the usual ones')
    .option('--no-ca-cert', 'the usual authorities alone')
    .option('--city <name>', 'the city')
    .option('--no-city', 'no city of its own');
  withExamples(
    set,
    'svc context set work --server https://svc.example --key-file ~/.svc-key --city alpha',
    'svc context set work --no-city',
  );
  set.action(async (name: string, _options, action: Command) => {
    // Also what was typed further up: `svc --key-file k context set work`.
    const flags = flagsOf<SetFlags & { readonly api?: string; readonly context?: string }>(action);
    if (flags.api !== undefined) throw new CliError('--api is for one command: give the context its address with --server');
    if (flags.context !== undefined) throw new CliError(`--context is for one command: \`svc context set\` changes what it names, ${name}`);
    const path = (given: string | false | undefined): string | false | undefined =>
      typeof given === 'string' ? resolve(io.cwd, given) : given;
    const changes = defined({ server: server(flags.server), key_file: path(flags.keyFile), ca_cert: path(flags.caCert), city: flags.city });
    if (Object.keys(changes).length === 0) throw new CliError('nothing to set: name at least one option');
    await changeContexts(io, (all) => {
      const before: Named = Object.hasOwn(all.contexts, name) ? all.contexts[name]! : {};
      const merged = Object.entries({ ...before, ...changes }).filter(([, value]) => value !== false);
      return { current: all.current ?? name, contexts: { ...all.contexts, [name]: Object.fromEntries(merged) as Named } };
    });
    await io.out(`${name} is set\n`);
  });

  const show = context
    .command('show')
    .description('show a context, the one in use unless named')
    .argument('[name]', 'the context')
    .option('--json', 'print the context as one JSON line');
  withExamples(show, 'svc context show', 'svc context show work --json');
  show.action(async (name: string | undefined, _options, action: Command) => {
    const shown = name === undefined ? contextInUse(io, undefined) : { name, ...must(readContexts(io.env).contexts, name) };
    if (shown === undefined) throw new CliError('no context is in use; see `svc context list`', EXIT.notFound);
    if (flagsOf<{ json?: boolean }>(action).json === true) return printJson(io, shown);
    return io.out(
      facts([
        ['name', shown.name],
        ['server', shown.server],
        ['city', shown.city],
        ['key file', shown.key_file],
        ['authority', shown.ca_cert],
      ]),
    );
  });

  const remove = context.command('delete').description('forget a context; key files stay').argument('<name>', 'the context');
  withExamples(remove, 'svc context delete work');
  remove.action(async (name: string) => {
    await changeContexts(io, ({ current, contexts }) => {
      must(contexts, name);
      const left = Object.fromEntries(Object.entries(contexts).filter(([one]) => one !== name));
      return { ...defined({ current: current === name ? undefined : current }), contexts: left };
    });
    await io.out(`${name} is deleted\n`);
  });
}

function must(contexts: Readonly<Record<string, Named>>, name: string): Named {
  if (!Object.hasOwn(contexts, name)) throw new CliError(`there is no context ${name}: see \`svc context list\``, EXIT.notFound);
  return contexts[name]!;
}

function server(given: string | false | undefined): string | false | undefined {
  if (typeof given !== 'string') return given;
  // Each has to be one that a command can use.
  addressesOf(given, '--server');
  return given;
}
