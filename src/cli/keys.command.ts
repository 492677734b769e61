import { Option, type Command } from 'commander';
import { ask, MUTATION } from './api.js';
import { collect, contextOf, flagsOf, printJson, withExamples, withTarget } from './command.js';
import type { Io } from './io.js';
import { table } from './table.js';

interface CreateFlags {
  readonly name: string;
  readonly scope: 'read' | 'write';
  readonly city?: readonly string[];
  readonly json?: boolean;
}

export function addKey(program: Command, io: Io): void {
  const key = program.command('key').description('API keys (needs a write key that is not limited to cities)');
  addCreate(key, io);
  addList(key, io);
  addRevoke(key, io);
}

function addCreate(key: Command, io: Io): void {
  const create = key
    .command('create')
    .description('make a key; it is shown once')
    .requiredOption('--name <name>', 'who will use it: the actor of the events that it causes')
    .addOption(new Option('--scope <scope>', 'what it may do').choices(['read', 'write']).makeOptionMandatory())
    .option('--city <name>', 'only this city; repeatable (default: all cities)', collect)
    .option('--json', 'print the answer as one JSON line');
  withTarget(create);
  withExamples(create, 'svc key create --name dashboard --scope read', 'svc key create --name ci --scope write --city alpha --city beta');
  create.action(async (_options, command: Command) => {
    const flags = flagsOf<CreateFlags>(command);
    const { api } = contextOf(command, io);
    const body = { name: flags.name, scope: flags.scope, ...(flags.city === undefined ? {} : { cities: [...flags.city] }) };
    const { data } = await ask(api, (signal) => api.http.POST('/v0/keys', { params: { header: MUTATION }, body, signal }));
    if (flags.json === true) return printJson(io, data);
    io.err(`key ${data.id} for ${flags.name}; it is not shown again:\n`);
    return io.out(`${data.key}\n`);
  });
}

function addList(key: Command, io: Io): void {
  const list = key
    .command('list')
    .description('list the keys, without their secrets')
    .option('--json', 'print the answer as one JSON line');
  withTarget(list);
  withExamples(list, 'svc key list');
  list.action(async (_options, command: Command) => {
    const { api } = contextOf(command, io);
    const { data } = await ask(api, (signal) => api.http.GET('/v0/keys', { signal }));
    if (flagsOf<CreateFlags>(command).json === true) return printJson(io, data);
    const rows = (data.items ?? []).map((k) => [
      k.id,
      k.name,
      k.scope,
      k.cities?.join(',') ?? 'all',
      k.created_at,
      k.last_used_at ?? 'never',
    ]);
    return io.out(table(['ID', 'NAME', 'SCOPE', 'CITIES', 'CREATED', 'LAST USED'], rows));
  });
}

function addRevoke(key: Command, io: Io): void {
  const revoke = key.command('revoke').argument('<id>', 'id of the key, as in the list').description('take a key back; its streams end');
  withTarget(revoke);
  withExamples(revoke, 'svc key revoke 4be01f9c2d77');
  revoke.action(async (id: string, _options, command: Command) => {
    const { api } = contextOf(command, io);
    await ask(api, (signal) => api.http.DELETE('/v0/keys/{id}', { params: { path: { id }, header: MUTATION }, signal }));
    await io.out(`key ${id} is revoked\n`);
  });
}
